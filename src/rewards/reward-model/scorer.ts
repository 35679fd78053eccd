/**
 * @file A value model that scores lines of episodes: a reward model, or a critic. Its weights are loaded when it is
 * first asked, and stay as long as the process.
 */
import { loadModel, loadTokenizer, type Model, readModelConfig } from "../../models/index.ts";
import type { Turn } from "../../rollout/index.ts";
import { type Device, type Dtype, noGrad, tidy } from "../../torch/index.ts";
import { type RewardModelKind, rewardModelKind } from "./note.ts";
import { type JudgedLine, lastScored, type ScoredRow, scoredRows, scoresOf } from "./rows.ts";

export interface ScorerOptions {
  readonly dtype?: Dtype | undefined;
  readonly device?: Device | undefined;
}

export interface Scorer {
  readonly folder: string;
  /** Undefined: a critic. */
  readonly kind: RewardModelKind | undefined;
  /** After the last turn. */
  last(line: ScoredLine): number;
  /** After each turn. */
  turns(line: ScoredLine): number[];
}

/** A line whose words are known, too: by them it is seen whether its tokens are the scorer's. */
export interface ScoredLine extends JudgedLine {
  readonly turns: readonly (JudgedLine["turns"][number] & {
    readonly reply: Pick<Turn["reply"], "ids" | "text">;
  })[];
}

/** Throws, before anything is loaded, unless this is the folder of a reward model (or of a critic). */
export function requireScorer(folder: string, what: "reward model" | "critic"): void {
  const { head } = readModelConfig(folder);
  if (head !== "token-classification")
    throw new Error(
      `${folder} is no ${what}: it has no head that gives one number. ` +
        (what === "critic"
          ? "Give the folder that a run with a critic saved: RUN/checkpoints/step-…/critic."
          : "Make one: openmanus-rl reward-model."),
    );
  if (what === "reward model" && rewardModelKind(folder) === undefined)
    throw new Error(
      `${folder} does not say what its scores mean (reward-model.json); give a folder that openmanus-rl reward-model made`,
    );
}

interface Loaded {
  readonly model: Model;
  readonly tokenizer: ReturnType<typeof loadTokenizer>;
}

const loaded = new Map<string, Loaded>();

export function scorer(folder: string, options: ScorerOptions = {}): Scorer {
  const kind = rewardModelKind(folder);
  const { dtype, device = "cpu" } = options;
  const open = (): Loaded => {
    const name = JSON.stringify([folder, dtype, device]);
    const known = loaded.get(name);
    if (known) return known;
    const model = loadModel(folder, { ...(dtype && { dtype }), device });
    for (const parameter of model.parameters.values()) parameter.requiresGrad_(false);
    const opened = { model, tokenizer: loadTokenizer(folder) };
    loaded.set(name, opened);
    return opened;
  };
  // By itself, so that what is computed beside it changes no digit.
  const scored = ({ turns }: ScoredLine, rows: readonly ScoredRow[]): number[] => {
    const { model, tokenizer } = open();
    requireOwnTokens(folder, tokenizer, turns.at(-1)!.reply);
    const { maximumPositions } = model.config;
    const long = rows.find(({ ids }) => ids.length > maximumPositions);
    if (long)
      throw new Error(
        `an episode has ${long.ids.length} tokens, and ${folder} takes ${maximumPositions}`,
      );
    return [...tidy(() => noGrad(() => scoresOf(model, rows).toNumbers()))];
  };
  const isCritic = kind === undefined;
  return {
    folder,
    kind,
    last: (line) => scored(line, lastScored(line, isCritic))[0]!,
    turns: (line) => scored(line, scoredRows(line, isCritic)),
  };
}

/** Ids are whole numbers, whosesoever they are: of another tokenizer they would be scored as garbage. */
function requireOwnTokens(
  folder: string,
  tokenizer: Loaded["tokenizer"],
  { ids, text }: Pick<Turn["reply"], "ids" | "text">,
): void {
  const isKnown = ids.every((id) => id < tokenizer.vocabularySize);
  if (isKnown && tokenizer.decode(ids, { skipSpecialTokens: true }) === text) return;
  throw new Error(
    `${folder} has another tokenizer than the policy whose episodes it is to score; train one from the same model`,
  );
}
