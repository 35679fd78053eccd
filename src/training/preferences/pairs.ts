/**
 * @file Pairs to learn from: two answers to the same, of which one was better. An answer is what an agent said in the
 * turns in which the two differ; what both begin with is their prompt, and nothing of it is trained.
 */
import { type Trajectory, type Turn, rowsOf } from "../../rollout/index.ts";
import { fingerprintOfExamples } from "../sft/fingerprints.ts";
import type { TokenRow } from "../workers/tokens.ts";

/** What of a turn an answer is made of. */
export interface SaidTurn extends Pick<Turn, "promptIds" | "branch"> {
  readonly reply: Pick<Turn["reply"], "ids" | "allowed">;
}

/** A line of an episode, as far as it counts. */
export interface Said {
  readonly context: Trajectory["context"];
  readonly turns: readonly SaidTurn[];
}

export interface Pair {
  /** What both are answers to: pairs of the same task are held out together. */
  readonly task: string;
  /** Rows of what was better: one, or, in the context `steps`, one for each turn. */
  readonly chosen: readonly TokenRow[];
  readonly rejected: readonly TokenRow[];
  /** By how much it was better, where that is known. */
  readonly margin: number;
}

/** Undefined: they do not differ, or one of them says nothing. */
export function pairOf(
  task: string,
  chosen: Said,
  rejected: Said,
  margin: number,
): Pair | undefined {
  const common = commonTurns(chosen.turns, rejected.turns);
  const pair = {
    task,
    chosen: answerRows(chosen, common),
    rejected: answerRows(rejected, common),
    margin,
  };
  return pair.chosen.length > 0 && pair.rejected.length > 0 ? pair : undefined;
}

/** The rows of a line in which the turns from `first` on are trained; rows without such a turn are left out. */
export function answerRows({ context, turns }: Said, first = 0): TokenRow[] {
  const numbered = turns.map((turn, number) => ({ ...turn, number }));
  return rowsOf({ context, turns: numbered }).flatMap((row) => {
    const ids: number[] = [];
    const mask: number[] = [];
    const allowed = new Map<number, readonly number[]>();
    for (const { promptIds, reply, number } of row) {
      ids.push(...promptIds);
      mask.push(...promptIds.map(() => 0));
      for (const [i, list] of reply.allowed?.entries() ?? [])
        if (list && number >= first) allowed.set(ids.length + i, list);
      ids.push(...reply.ids);
      mask.push(...reply.ids.map(() => (number >= first ? 1 : 0)));
    }
    // Nothing comes before the first token that could predict it.
    mask[0] = 0;
    return mask.includes(1)
      ? [{ ids: Int32Array.from(ids), mask: Uint8Array.from(mask), allowed }]
      : [];
  });
}

function commonTurns(a: readonly SaidTurn[], b: readonly SaidTurn[]): number {
  const isSame = (x: readonly number[], y: readonly number[]) =>
    x.length === y.length && x.every((id, i) => id === y[i]);
  const differs = a.findIndex((turn, i) => {
    const other = b[i];
    return !(
      other &&
      isSame(turn.promptIds, other.promptIds) &&
      isSame(turn.reply.ids, other.reply.ids)
    );
  });
  return differs < 0 ? a.length : differs;
}

/** All rows of a pair, the chosen one's first. */
export function rowsOfPair({ chosen, rejected }: Pair): readonly TokenRow[] {
  return [...chosen, ...rejected];
}

/** By which one set of pairs is told from another. */
export function fingerprintOfPairs(pairs: readonly Pair[]): string {
  return fingerprintOfExamples(pairs.flatMap(rowsOfPair));
}
