/**
 * @file What searches found beside their episodes, in a file of JSON lines: one line per search. Lines of a tree share
 * their beginnings, so turns are written once, each with the turn before it.
 */
import { appendFileSync, existsSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import type { AgentContext } from "../../agents/index.ts";
import { diskSentence, naming } from "../../folders/index.ts";
import type { Findings } from "../search/findings.ts";
import type { SampledReply, Turn } from "../trajectory.ts";
import { readTextLines } from "./files.ts";
import { TrajectoryLineError } from "./line.ts";

/** What is kept of a turn: what was said after what, in tokens and in words. */
export interface FoundTurn extends Pick<Turn, "observation" | "action" | "promptIds"> {
  readonly reply: Pick<SampledReply, "ids" | "text" | "allowed">;
}

/** What one search found. */
export interface SearchFindings extends Findings<FoundTurn> {
  /** Of the task. */
  readonly task: string;
  readonly context: AgentContext;
  /** Whose ids these are: the tokenizer's fingerprint. */
  readonly tokenizer: string;
}

interface StoredTurn extends FoundTurn {
  /** The number of the turn before it; -1: it is the first. */
  readonly after: number;
}

/** Turns are told by the number of the last one. */
interface StoredFindings extends Omit<SearchFindings, keyof Findings> {
  readonly turns: readonly StoredTurn[];
  readonly preferences: readonly { chosen: number; rejected: number; margin: number }[];
  readonly values: readonly { state: number; value: number; visits: number }[];
}

export const FINDINGS_FILE = "findings.jsonl";

/** The file of a rollout's folder; undefined: no search found anything there. */
export function findingsFileIn(folder: string): string | undefined {
  const file = join(folder, FINDINGS_FILE);
  return existsSync(file) ? file : undefined;
}

/** Whole or not at all: what a full disk took half of is taken back. */
export function appendFindings(file: string, found: SearchFindings): void {
  const size = existsSync(file) ? statSync(file).size : 0;
  try {
    naming(file, () => appendFileSync(file, `${JSON.stringify(stored(found))}\n`));
  } catch (error) {
    try {
      truncateSync(file, size);
    } catch {
      // Why it could not be written is what is told.
    }
    throw diskSentence(error);
  }
}

function stored({ preferences, values, ...about }: SearchFindings): StoredFindings {
  const turns: StoredTurn[] = [];
  // The lines of a tree have the very same turns where they share them.
  const numbers = new Map<FoundTurn, number>();
  const last = (line: readonly FoundTurn[]): number => {
    let after = -1;
    for (const turn of line) {
      const known = numbers.get(turn);
      if (known === undefined) {
        numbers.set(turn, turns.length);
        turns.push({ after, ...kept(turn) });
      }
      after = known ?? turns.length - 1;
    }
    return after;
  };
  return {
    ...about,
    preferences: preferences.map(({ chosen, rejected, margin }) => ({
      chosen: last(chosen),
      rejected: last(rejected),
      margin,
    })),
    values: values.map(({ turns: line, value, visits }) => ({ state: last(line), value, visits })),
    turns,
  };
}

function kept({ observation, action, promptIds, reply }: FoundTurn): FoundTurn {
  const { ids, text, allowed } = reply;
  return { observation, action, promptIds, reply: { ids, text, ...(allowed && { allowed }) } };
}

export function readFindings(file: string): SearchFindings[] {
  return readTextLines(file).map((line, i) => {
    try {
      return unstored(JSON.parse(line) as StoredFindings);
    } catch (error) {
      throw new TrajectoryLineError(
        `${file}, line ${i + 1}: is not what a search found (${(error as Error).message}); take it out of the file`,
      );
    }
  });
}

function unstored({ turns, preferences, values, ...about }: StoredFindings): SearchFindings {
  if (typeof about.tokenizer !== "string" || typeof about.context !== "string")
    throw new TypeError('expected "tokenizer" and "context"');
  const isIds = (list: unknown) => Array.isArray(list) && list.every(Number.isInteger);
  for (const [i, { after, promptIds, reply }] of turns.entries())
    if (!(after < i && isIds(promptIds) && isIds(reply?.ids)))
      throw new TypeError(`turn ${i} has no ids, or comes after a later one`);
  const line = (last: number): FoundTurn[] => {
    if (!turns[last]) throw new TypeError(`there is no turn ${last}`);
    const found: FoundTurn[] = [];
    for (let at = last; at >= 0; at = turns[at]!.after) found.unshift(turns[at]!);
    return found;
  };
  return {
    ...about,
    preferences: preferences.map(({ chosen, rejected, margin }) => ({
      chosen: line(chosen),
      rejected: line(rejected),
      margin,
    })),
    values: values.map(({ state, value, visits }) => ({ turns: line(state), value, visits })),
  };
}
