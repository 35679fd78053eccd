/**
 * @file Things that are dealt out to the ranks in turn, and the order that one process would have them in: by
 * that, which rows share a mini-batch, and in which order episodes are stored, do not depend on how many ranks
 * there are.
 */
import type { Ranks } from "./ranks.ts";

/** This rank's rows among the rows of all. */
export interface DealtRows {
  /** Of all ranks. */
  readonly count: number;
  /** [own rows] The number of each among all. */
  readonly own: readonly number[];
  /** Values of the rows of all ranks, in order, from those of this rank's. */
  all<Value>(values: readonly Value[]): Value[];
}

/** `places`: for each row of this rank, the place of its task in the order of tasks. */
export function dealtRows(places: readonly number[], ranks: Ranks): DealtRows {
  const rows = ranks
    .gather(places)
    .flatMap((list, rank) => list.map((place, index) => ({ place, rank, index })));
  // A task's rows are all on one rank, in their order; sorting keeps it.
  rows.sort((a, b) => a.place - b.place);
  const own: number[] = [];
  for (const [number, { rank, index }] of rows.entries())
    if (rank === ranks.rank) own[index] = number;
  return {
    count: rows.length,
    own,
    all(values) {
      const parts = ranks.gather(values);
      return rows.map(({ rank, index }) => parts[rank]![index]!);
    },
  };
}

/** This rank's share of things that are dealt out in turn. */
export function ownShare<Value>(
  all: readonly Value[],
  { rank, size }: { readonly rank: number; readonly size: number },
): Value[] {
  return all.filter((_, i) => i % size === rank);
}

/** What every rank made of its share, `each` of every thing, in the order of the things. */
export function inOrder<Value>(parts: readonly (readonly Value[])[], each = 1): Value[] {
  const size = parts.length;
  const made = parts.flatMap((part, rank) =>
    part.map((value, i) => ({ value, place: Math.floor(i / each) * size + rank })),
  );
  return made.sort((a, b) => a.place - b.place).map(({ value }) => value);
}
