/**
 * @file Random batches for the tests of the algorithms: rows that are steps of episodes, with
 * observations between agent tokens, and everything that some estimator needs. Also ways to change
 * them that should not matter.
 */
import * as fc from "fast-check";
import {
  type AdvantageBatch,
  type Numbers,
  type Rows,
  stepsOfRows,
} from "../../src/algorithms/index.ts";

/** A batch in which nothing is missing. */
export type FullBatch = {
  [Key in keyof AdvantageBatch]-?: Exclude<AdvantageBatch[Key], undefined>;
};

interface RandomRow {
  group: number;
  member: number;
  mask: (0 | 1)[];
  reward: number;
  stepReturn: number;
  anchor: string;
  noise: number;
}

const small = fc.integer({ min: -8, max: 8 }).map((value) => value / 4);

const randomRow = (group: number, member: number): fc.Arbitrary<RandomRow> =>
  fc.record({
    group: fc.constant(group),
    member: fc.constant(member),
    // Starts with a trained token: every row can carry a reward.
    mask: fc
      .array(fc.constantFrom<0 | 1>(0, 1), { maxLength: 6 })
      .map((rest): (0 | 1)[] => [1, ...rest]),
    reward: small,
    stepReturn: small,
    anchor: fc.constantFrom("kitchen", "hall", "garden"),
    noise: fc.integer({ min: 1, max: 1_000_000 }),
  });

/** Groups of 2 to 4 episodes of 1 to 3 steps. */
export const randomBatch: fc.Arbitrary<FullBatch> = fc
  .array(fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 2, maxLength: 4 }), {
    minLength: 1,
    maxLength: 3,
  })
  .chain((groups) =>
    fc.tuple(
      ...groups.flatMap((episodes, group) =>
        episodes.flatMap((steps, member) =>
          Array.from({ length: steps }, () => randomRow(group, member)),
        ),
      ),
    ),
  )
  .map((rows) => buildBatch(rows as RandomRow[]));

function buildBatch(rows: readonly RandomRow[]): FullBatch {
  const mask = rows.flatMap((row) => row.mask);
  const offsets = new Int32Array(rows.length + 1);
  for (const [i, row] of rows.entries()) offsets[i + 1] = offsets[i]! + row.mask.length;
  const perToken = (value: (noise: number) => number) =>
    Float64Array.from(
      rows.flatMap((row) => row.mask.map((_, i) => value(((row.noise * (i + 7)) % 997) / 997))),
    );
  const rewards = perToken((noise) => Math.round(noise * 4) / 8);
  for (const [i, row] of rows.entries()) rewards[offsets[i]!] = row.reward;
  const packed: Rows = { offsets, mask: Uint8Array.from(mask) };
  const trajectories = rows.map((row) => `${row.group}-${row.member}`);
  const order = rows.map(
    (_, i) => trajectories.slice(0, i).filter((t) => t === trajectories[i]).length,
  );
  return {
    rows: packed,
    rewards,
    values: perToken((noise) => noise - 0.5),
    groups: rows.map((row) => `task ${row.group}`),
    trajectories,
    order,
    baselines: Float64Array.from(rows, (row) => row.reward / 2),
    oldLogprobs: perToken((noise) => -noise - 0.1),
    squaredProbabilities: perToken((noise) => 0.9 * noise + 0.05),
    importanceWeights: perToken((noise) => 0.5 + noise),
    steps: {
      spans: stepsOfRows(packed),
      anchors: rows.map((row) => row.anchor),
      returns: Float64Array.from(rows, (row) => row.stepReturn),
      order,
      scores: undefined,
    },
  };
}

const TOKENS = [
  ...(["rewards", "values", "oldLogprobs", "squaredProbabilities", "importanceWeights"] as const),
];

/** The same batch with other values where the mask is 0. */
export function poison(batch: FullBatch, value: number): FullBatch {
  const poisoned = { ...batch };
  for (const name of TOKENS)
    poisoned[name] = batch[name].map((old, i) => (batch.rows.mask[i] === 1 ? old : value));
  return poisoned;
}

/** Rows in another order: `order[i]` is the old number of the new row i. */
export function reorder(batch: FullBatch, order: readonly number[]): FullBatch {
  const { offsets, mask } = batch.rows;
  const tokens = order.flatMap((row) =>
    Array.from({ length: offsets[row + 1]! - offsets[row]! }, (_, i) => offsets[row]! + i),
  );
  const lengths = order.map((row) => offsets[row + 1]! - offsets[row]!);
  const newOffsets = Int32Array.from([0, ...lengths]);
  for (let i = 1; i < newOffsets.length; i++) newOffsets[i]! += newOffsets[i - 1]!;
  const rows: Rows = {
    offsets: newOffsets,
    mask: Uint8Array.from(tokens, (token) => mask[token]!),
  };
  const byToken = (values: Numbers) => Float64Array.from(tokens, (token) => values[token]!);
  const byRow = (values: Numbers) => Float64Array.from(order, (row) => values[row]!);
  const { steps } = batch;
  return {
    rows,
    ...(Object.fromEntries(TOKENS.map((name) => [name, byToken(batch[name])])) as Pick<
      FullBatch,
      (typeof TOKENS)[number]
    >),
    groups: order.map((row) => batch.groups[row]!),
    trajectories: order.map((row) => batch.trajectories[row]!),
    order: order.map((row) => batch.order[row]!),
    baselines: byRow(batch.baselines),
    steps: {
      spans: stepsOfRows(rows),
      anchors: order.map((row) => steps.anchors[row]),
      returns: byRow(steps.returns),
      order: order.map((row) => steps.order![row]!),
      scores: steps.scores ? byRow(steps.scores) : undefined,
    },
  };
}

/** Values per token in the order of `reorder`. */
export function reorderTokens(
  values: Float64Array,
  rows: Rows,
  order: readonly number[],
): Float64Array {
  return Float64Array.from(
    order.flatMap((row) => Array.from(values.subarray(rows.offsets[row]!, rows.offsets[row + 1]!))),
  );
}

/** Packs rows written out as lists; null is a token that is not trained. */
export function pack(rows: readonly (readonly (number | null)[])[]): {
  rows: Rows;
  values: Float64Array;
} {
  const offsets = new Int32Array(rows.length + 1);
  for (const [i, row] of rows.entries()) offsets[i + 1] = offsets[i]! + row.length;
  const flat = rows.flat();
  return {
    rows: { offsets, mask: Uint8Array.from(flat, (value) => (value === null ? 0 : 1)) },
    values: Float64Array.from(flat, (value) => value ?? Number.NaN),
  };
}
