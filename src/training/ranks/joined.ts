/**
 * @file The batches of all processes as one, for estimators and metrics that look at everything; and the way back.
 */
import type { AdvantageBatch, Id, Numbers, Rows } from "../../algorithms/index.ts";
import type { Ranks } from "./ranks.ts";

export interface Joined {
  readonly whole: AdvantageBatch;
  /** This rank's part of values [tokens] of the whole. */
  ownPart(values: Float64Array): Float64Array;
  /** This rank's part of values [steps] of the whole. */
  ownSteps(values: Int32Array): Int32Array;
}

export function joinedBatches(own: AdvantageBatch, ranks: Ranks): Joined {
  if (ranks.size === 1)
    return { whole: own, ownPart: (values) => values, ownSteps: (values) => values };
  const parts = ranks.gather(own);
  const slices = (counts: readonly number[]) => {
    const start = before(counts)[ranks.rank]!;
    return [start, start + counts[ranks.rank]!] as const;
  };
  const tokens = slices(parts.map(({ rows }) => rows.mask.length));
  const steps = slices(parts.map((part) => part.steps?.returns.length ?? 0));
  return {
    whole: joinParts(parts),
    ownPart: (values) => values.slice(...tokens),
    ownSteps: (values) => values.slice(...steps),
  };
}

/** The rows of all ranks behind each other, and values of their tokens. */
export interface JoinedTokens {
  readonly rows: Rows;
  /** Values [tokens] of all ranks, from this rank's. */
  all(values: Float64Array): Float64Array;
  /** This rank's part of values [tokens] of all. */
  own<Values extends Float64Array | Uint8Array>(values: Values): Values;
}

export function joinedTokens(rows: Rows, ranks: Ranks): JoinedTokens {
  if (ranks.size === 1) return { rows, all: (values) => values, own: (values) => values };
  const parts = ranks.gather({ offsets: rows.offsets, mask: rows.mask });
  const tokens = parts.map(({ mask }) => mask.length);
  const starts = before(tokens);
  const offsets = [0];
  for (const [i, part] of parts.entries())
    for (const offset of part.offsets.subarray(1)) offsets.push(offset + starts[i]!);
  const first = starts[ranks.rank]!;
  return {
    rows: {
      offsets: Int32Array.from(offsets),
      mask: Uint8Array.from(parts.flatMap(({ mask }) => Array.from(mask))),
    },
    all: (values) => numbers(ranks.gather(values))!,
    own: (values) => values.slice(first, first + rows.mask.length) as typeof values,
  };
}

/** Rows, tokens and steps of several batches behind each other. */
export function joinParts(parts: readonly AdvantageBatch[]): AdvantageBatch {
  const tokensBefore = before(parts.map(({ rows }) => rows.mask.length));
  const rowsBefore = before(parts.map(({ rows }) => rows.offsets.length - 1));
  const offsets = [0];
  for (const [i, { rows }] of parts.entries())
    for (const offset of rows.offsets.subarray(1)) offsets.push(offset + tokensBefore[i]!);
  const steps = parts.map((part) => part.steps!);
  const shifted = (name: "row" | "start" | "end") => {
    const by = name === "row" ? rowsBefore : tokensBefore;
    return Int32Array.from(
      steps.flatMap(({ spans }, i) => Array.from(spans[name], (value) => value + by[i]!)),
    );
  };
  return {
    rows: {
      offsets: Int32Array.from(offsets),
      mask: Uint8Array.from(parts.flatMap(({ rows }) => Array.from(rows.mask))),
    },
    rewards: numbers(parts.map(({ rewards }) => rewards))!,
    values: numbers(parts.map(({ values }) => values)),
    groups: parts.flatMap(({ groups }) => Array.from(groups!)) as Id[],
    trajectories: parts.flatMap(({ trajectories }) => Array.from(trajectories!)) as Id[],
    order: parts.flatMap(({ order }) => Array.from(order!)),
    baselines: numbers(parts.map(({ baselines }) => baselines)),
    oldLogprobs: numbers(parts.map(({ oldLogprobs }) => oldLogprobs)),
    squaredProbabilities: numbers(parts.map((part) => part.squaredProbabilities)),
    steps: {
      spans: { row: shifted("row"), start: shifted("start"), end: shifted("end") },
      anchors: steps.flatMap(({ anchors }) => [...anchors]),
      returns: numbers(steps.map(({ returns }) => returns))!,
      order: steps.flatMap(({ order }) => Array.from(order!)),
      scores: numbers(steps.map(({ scores }) => scores)),
    },
  };
}

/** How much came before each part. */
function before(counts: readonly number[]): number[] {
  let sum = 0;
  return counts.map((count) => {
    sum += count;
    return sum - count;
  });
}

/** Undefined when a part has none. */
function numbers(parts: readonly (Numbers | undefined)[]): Float64Array | undefined {
  if (parts.some((part) => part === undefined)) return undefined;
  return Float64Array.from(parts.flatMap((part) => Array.from(part!)));
}
