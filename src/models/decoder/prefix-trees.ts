/**
 * @file Sequences that begin with the same tokens, as trees of runs. Groups share their prompt, and often
 * their first turns: what is shared is one run, which is computed once, and whose gradients are the sums over
 * all that go on from it.
 */

/** Token ids. */
export type Sequence = readonly number[] | Int32Array;

/** Tokens in a row that one sequence has, or several in common. */
export interface Run {
  /** The run that it goes on from; -1: it begins a sequence. */
  readonly parent: number;
  /** Its tokens are those of this sequence, and of all that share it, from `begin` to `end`. */
  readonly sequence: number;
  readonly begin: number;
  readonly end: number;
}

export interface PrefixTrees {
  /** In the order of a walk: behind a run come all that go on from it. */
  readonly runs: readonly Run[];
  /** [sequences] The run that each ends with; -1: it is empty. */
  readonly last: Int32Array;
}

/** Fewer tokens are not worth a run of their own: attention cuts its blocks where runs end. */
export const LEAST_SHARED = 16;

/** Without `shares` each sequence is a run. Trees and branches come in the order of their first sequences. */
export function prefixTrees(sequences: readonly Sequence[], shares = true): PrefixTrees {
  const sorted = shares ? sortedByTokens(sequences) : nonEmpty(sequences);
  // [i] What the sorted sequences i - 1 and i have in common.
  const common = sorted.map((sequence, i) =>
    shares && i > 0 ? commonLength(sequences[sorted[i - 1]!]!, sequences[sequence]!) : 0,
  );
  const runs: Run[] = [];
  const last = new Int32Array(sequences.length).fill(-1);

  /** The sorted sequences [from, to) have their first `begin` tokens in common, which end with `parent`. */
  function grow(from: number, to: number, begin: number, parent: number): void {
    for (const [first, next] of branches(from, to, begin + LEAST_SHARED)) {
      const sequence = sorted[first]!;
      let end = sequences[sequence]!.length;
      for (let i = first + 1; i < next; i++) end = Math.min(end, common[i]!);
      const run = runs.push({ parent, sequence, begin, end }) - 1;
      // The shorter ones come first.
      let ended = first;
      while (ended < next && sequences[sorted[ended]!]!.length === end)
        last[sorted[ended++]!] = run;
      if (ended < next) grow(ended, next, end, run);
    }
  }

  /** Parts of a range whose sequences have so many tokens in common. */
  function branches(from: number, to: number, least: number): (readonly [number, number])[] {
    const found: { range: readonly [number, number]; earliest: number }[] = [];
    for (let first = from, next = from; first < to; first = next) {
      let earliest = sorted[first]!;
      for (next = first + 1; next < to && common[next]! >= least; next++)
        earliest = Math.min(earliest, sorted[next]!);
      found.push({ range: [first, next], earliest });
    }
    return found.sort((a, b) => a.earliest - b.earliest).map(({ range }) => range);
  }

  grow(0, sorted.length, 0, -1);
  return { runs, last };
}

/** The indices of all that are not empty, so that those with equal beginnings are neighbours. */
export function sortedByTokens(sequences: readonly Sequence[]): number[] {
  const compare = (a: number, b: number): number => {
    const [one, other] = [sequences[a]!, sequences[b]!];
    const equal = commonLength(one, other);
    const isWhole = equal === one.length || equal === other.length;
    return (isWhole ? one.length - other.length : one[equal]! - other[equal]!) || a - b;
  };
  return nonEmpty(sequences).sort(compare);
}

function nonEmpty(sequences: readonly Sequence[]): number[] {
  return [...sequences.keys()].filter((i) => sequences[i]!.length > 0);
}

/** How many of their first tokens are equal. */
export function commonLength(a: Sequence, b: Sequence): number {
  const most = Math.min(a.length, b.length);
  let equal = 0;
  while (equal < most && a[equal] === b[equal]) equal++;
  return equal;
}
