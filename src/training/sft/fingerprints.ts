/**
 * @file Does this belong together? Episodes and the tokenizer that they are learned with; the examples of a
 * fine-tuning that was stopped and those of the one that goes on.
 */
import { createHash } from "node:crypto";
import { OptionError } from "../../assembly/index.ts";
import type { Chat } from "../../models/index.ts";
import type { FoundTurn, SearchFindings, Trajectory } from "../../rollout/index.ts";
import type { Example } from "./examples.ts";

/**
 * Throws where an episode's ids are of another tokenizer: they are whole numbers like all others, and a model
 * would learn garbage. Episodes of earlier versions do not name theirs; of them the words must fit the ids.
 */
export function requireTokensOf(
  { tokenizer }: Chat,
  { id, turns, tokenizer: own }: Trajectory,
  place: string,
): void {
  const fits = ({ ids, text }: Trajectory["turns"][number]["reply"]): boolean =>
    tokenizer.decode(ids, { skipSpecialTokens: true }) === text;
  const isSame =
    own === undefined ? turns.every(({ reply }) => fits(reply)) : own === tokenizer.fingerprint;
  if (isSame && turns.every((turn) => isKnown(tokenizer, turn))) return;
  throw new OptionError(
    `${place}: the episode "${id}" has token ids of another tokenizer than ${tokenizer.folder}'s; a model ` +
      "would learn garbage from them. Export it as chats (openmanus-rl trajectories export), which any " +
      "model can learn from, or play it again with this model's tokenizer.",
  );
}

/** The same of what a search found. */
export function requireTokensOfFindings(
  { tokenizer }: Chat,
  { task, tokenizer: own, preferences, values }: SearchFindings,
  place: string,
): void {
  const lines = [
    ...preferences.flatMap(({ chosen, rejected }) => [chosen, rejected]),
    ...values.map(({ turns }) => turns),
  ];
  if (own === tokenizer.fingerprint && lines.flat().every((turn) => isKnown(tokenizer, turn)))
    return;
  throw new OptionError(
    `${place}: what was found in the task "${task}" has token ids of another tokenizer than ${tokenizer.folder}'s; a ` +
      "model would learn garbage from them. Search again with this model's tokenizer.",
  );
}

function isKnown({ vocabularySize }: Chat["tokenizer"], { promptIds, reply }: FoundTurn): boolean {
  const known = (token: number) => Number.isInteger(token) && token >= 0 && token < vocabularySize;
  return promptIds.every(known) && reply.ids.every(known);
}

/** By which one set of examples is told from another. */
export function fingerprintOfExamples(examples: Iterable<Example>): string {
  const hash = createHash("sha256");
  for (const { ids, mask } of examples) {
    hash.update(`${ids.length}\n`);
    hash.update(new Uint8Array(ids.buffer, ids.byteOffset, ids.byteLength));
    hash.update(mask);
  }
  return hash.digest("hex");
}
