/**
 * @file Properties that every advantage estimator has, and what each gives for input at the edge.
 */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type AdvantageEstimatorName,
  type AdvantageOptions,
  advantageEstimators,
  gae,
  grpo,
  grpoPassAtK,
  NonFiniteError,
  opo,
  optimalTokenBaseline,
  type Rows,
  reinforcePlusPlus,
  remax,
  rloo,
} from "../../src/algorithms/index.ts";
import { type FullBatch, pack, poison, randomBatch, reorder, reorderTokens } from "./batches.ts";

const NAMES = Object.keys(advantageEstimators) as AdvantageEstimatorName[];

/** Every estimator, some of them in several ways. */
const VARIANTS: [string, AdvantageEstimatorName, AdvantageOptions][] = [
  ...NAMES.map((name): [string, AdvantageEstimatorName, AdvantageOptions] => [name, name, {}]),
  ["gae 0.9 0.8", "gae", { gamma: 0.9, lambda: 0.8 }],
  ["reinforce_plus_plus 0.9", "reinforce_plus_plus", { gamma: 0.9 }],
  ["grpo once per episode", "grpo", { episodeStatistics: "trajectories" }],
  ["grpo_passk once per episode", "grpo_passk", { episodeStatistics: "trajectories" }],
  ["rloo once per episode", "rloo", { episodeStatistics: "trajectories" }],
  ["gigpo mean_std_norm", "gigpo", { mode: "mean_std_norm" }],
  ["gigpo once per episode", "gigpo", { episodeStatistics: "trajectories" }],
  ["gigpo similar", "gigpo", { similarity: 0.3 }],
  ["hgpo mean_norm base", "hgpo", { mode: "mean_norm", baseGroup: true }],
];

/** Asserts that lists agree within a tolerance relative to 1 and to their size. */
function expectClose(ours: Float64Array, theirs: Float64Array, tolerance = 1e-9): void {
  expect(ours.length).toBe(theirs.length);
  for (const [i, value] of ours.entries())
    if (!(Math.abs(value - theirs[i]!) <= tolerance * Math.max(1, Math.abs(theirs[i]!))))
      expect.fail(`at ${i}: ${value}, expected ${theirs[i]}`);
}

describe.each(VARIANTS)("%s", (_, name, options) => {
  const estimate = (batch: FullBatch) => advantageEstimators[name].estimate(batch, options);

  it("gives finite numbers, and 0 where nothing is trained", () => {
    fc.assert(
      fc.property(randomBatch, (batch) => {
        const { advantages, returns } = estimate(batch);
        for (const values of [advantages, returns])
          for (const [i, value] of values.entries())
            if (!Number.isFinite(value) || (batch.rows.mask[i] === 0 && value !== 0)) return false;
        return true;
      }),
      { numRuns: 15 },
    );
  });

  it("does not see values under mask 0", () => {
    fc.assert(
      fc.property(
        randomBatch,
        fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, -1e30, 5),
        (batch, value) => {
          expect(estimate(poison(batch, value))).toEqual(estimate(batch));
        },
      ),
      { numRuns: 15 },
    );
  });

  it("does not see the order of rows, trajectories and groups", () => {
    fc.assert(
      fc.property(randomBatch, fc.infiniteStream(fc.nat()), (batch, random) => {
        const order = shuffled(batch.groups.length, random);
        const before = estimate(batch);
        const after = estimate(reorder(batch, order));
        expectClose(after.advantages, reorderTokens(before.advantages, batch.rows, order));
        expectClose(after.returns, reorderTokens(before.returns, batch.rows, order));
      }),
      { numRuns: 15 },
    );
  });

  it("does not change its input", () => {
    fc.assert(
      fc.property(randomBatch, (batch) => {
        const before = structuredClone(batch);
        estimate(batch);
        expect(batch).toEqual(before);
      }),
      { numRuns: 5 },
    );
  });
});

function shuffled(count: number, random: Iterator<number>): number[] {
  const order = Array.from({ length: count }, (_, i) => i);
  for (let i = count - 1; i > 0; i--) {
    const j = random.next().value % (i + 1);
    [order[i], order[j]] = [order[j]!, order[i]!];
  }
  return order;
}

describe("a constant added to all rewards of a group", () => {
  const indifferent: [AdvantageEstimatorName, AdvantageOptions][] = [
    ["grpo", {}],
    ["dr_grpo", {}],
    ["grpo_passk", {}],
    ["rloo", {}],
    ["opo", {}],
    ["reinforce_plus_plus_baseline", {}],
    ["gigpo", {}],
    ["gigpo", { mode: "mean_std_norm", episodeStatistics: "trajectories" }],
    ["hgpo", {}],
  ];

  it.each(indifferent)("does not change %s %j", (name, options) => {
    fc.assert(
      fc.property(randomBatch, fc.double({ min: -10, max: 10, noNaN: true }), (batch, constant) => {
        const shifted = { ...batch, rewards: Float64Array.from(batch.rewards) };
        shifted.steps = {
          ...batch.steps,
          returns: Float64Array.from(batch.steps.returns, (value) => value + constant),
        };
        for (let row = 0; row < batch.groups.length; row++)
          shifted.rewards[batch.rows.offsets[row]!]! += constant;
        const estimator = advantageEstimators[name];
        expectClose(
          estimator.estimate(shifted, options).advantages,
          estimator.estimate(batch, options).advantages,
          1e-7,
        );
      }),
      { numRuns: 40 },
    );
  });
});

describe("observations between turns", () => {
  /** The same rows with everything under mask 0 taken out. */
  function compact(batch: FullBatch): FullBatch {
    const { offsets, mask } = batch.rows;
    const kept = Array.from(mask.keys()).filter((token) => mask[token] === 1);
    const lengths = Array.from(batch.groups as string[], (_, row) =>
      mask.subarray(offsets[row]!, offsets[row + 1]!).reduce((sum, value) => sum + value, 0),
    );
    const newOffsets = Int32Array.from([0, ...lengths]);
    for (let i = 1; i < newOffsets.length; i++) newOffsets[i]! += newOffsets[i - 1]!;
    const pick = (values: ArrayLike<number>) => Float64Array.from(kept, (token) => values[token]!);
    return {
      ...batch,
      rows: { offsets: newOffsets, mask: new Uint8Array(kept.length).fill(1) },
      rewards: pick(batch.rewards),
      values: pick(batch.values),
      oldLogprobs: pick(batch.oldLogprobs),
      squaredProbabilities: pick(batch.squaredProbabilities),
      importanceWeights: pick(batch.importanceWeights),
    };
  }

  it.each([
    ["gae", { gamma: 0.9, lambda: 0.95 }],
    ["reinforce_plus_plus", { gamma: 0.9 }],
    ["remax", {}],
    ["tir_optimal_token_baseline", {}],
  ] as const)("cost %s neither discount nor value", (name, options) => {
    fc.assert(
      fc.property(randomBatch, (batch) => {
        const { advantages } = advantageEstimators[name].estimate(batch, options);
        const short = advantageEstimators[name].estimate(compact(batch), options).advantages;
        const kept = Float64Array.from(advantages.filter((_, i) => batch.rows.mask[i] === 1));
        expectClose(kept, short);
      }),
      { numRuns: 30 },
    );
  });
});

describe("plain twins", () => {
  it("gae is the sum of discounted errors", () => {
    fc.assert(
      fc.property(randomBatch, (batch) => {
        const [gamma, lambda] = [0.9, 0.7];
        const { advantages } = gae(batch, { gamma, lambda, whiten: false });
        const { offsets, mask } = batch.rows;
        for (let row = 0; row + 1 < offsets.length; row++) {
          const tokens: number[] = [];
          for (let t = offsets[row]!; t < offsets[row + 1]!; t++) if (mask[t]) tokens.push(t);
          const errors = tokens.map(
            (t, i) =>
              batch.rewards[t]! +
              gamma * (i + 1 < tokens.length ? batch.values[tokens[i + 1]!]! : 0) -
              batch.values[t]!,
          );
          for (const [i, token] of tokens.entries()) {
            const sum = errors
              .slice(i)
              .reduce((total, error, j) => total + (gamma * lambda) ** j * error, 0);
            expect(advantages[token]).toBeCloseTo(sum, 10);
          }
        }
      }),
      { numRuns: 20 },
    );
  });

  it("rloo leaves one out", () => {
    const { rows, values } = pack([[1], [4], [null, 7], [5], [9]]);
    const { advantages } = rloo({ rows, rewards: values, groups: [0, 0, 0, 1, 1] });
    expectClose(advantages, Float64Array.from([1 - 5.5, 4 - 4, 0, 7 - 2.5, 5 - 9, 9 - 5]));
  });

  it("opo weighs by length", () => {
    const { rows, values } = pack([
      [0, 0, 3],
      [1, null],
    ]);
    const { advantages } = opo({ rows, rewards: values, groups: ["a", "a"] });
    const baseline = (3 * 3 + 1 * 1) / 4;
    const long = 3 - baseline;
    expectClose(advantages, Float64Array.from([long, long, long, 1 - baseline, 0]));
  });
});

describe("at the edge", () => {
  const one = pack([[0, 2]]);

  it.each(NAMES.filter((name) => name !== "grpo_passk"))("%s takes an empty batch", (name) => {
    const rows: Rows = { offsets: Int32Array.from([0]), mask: new Uint8Array(0) };
    const none = new Float64Array(0);
    const spans = { row: new Int32Array(0), start: new Int32Array(0), end: new Int32Array(0) };
    const batch: FullBatch = {
      rows,
      rewards: none,
      values: none,
      groups: [],
      trajectories: [],
      order: [],
      baselines: none,
      oldLogprobs: none,
      squaredProbabilities: none,
      importanceWeights: none,
      steps: { spans, anchors: [], returns: none, order: [], scores: none },
    };
    expect(advantageEstimators[name].estimate(batch).advantages.length).toBe(0);
  });

  it("a group of one: its score for grpo and opo, 0 for rloo, an error for pass@k", () => {
    const input = { rows: one.rows, rewards: one.values, groups: ["a"] };
    expect(grpo(input).advantages[0]).toBeCloseTo(2, 5);
    expect(grpo(input, { singleton: "zero" }).advantages[0]).toBe(0);
    expect(opo(input).advantages[0]).toBe(2);
    expect(rloo(input).advantages[0]).toBe(0);
    expect(rloo(input, { singleton: "score" }).advantages[0]).toBe(2);
    expect(() => grpoPassAtK(input)).toThrow(/group a has one member.*at least 2 per group/);
  });

  it("equal rewards give exactly 0", () => {
    const { rows, values } = pack([[0.1], [0.1], [0.1]]);
    const input = { rows, rewards: values, groups: [1, 1, 1] };
    for (const name of ["grpo", "dr_grpo", "rloo", "opo", "grpo_passk"] as const)
      expect(Array.from(advantageEstimators[name].estimate(input).advantages)).toEqual([0, 0, 0]);
    expect(Array.from(reinforcePlusPlus({ rows, rewards: values }).advantages)).toEqual([0, 0, 0]);
  });

  it("one trained token in all whitens to 0", () => {
    const { rows, values } = pack([[null, 3, null]]);
    expect(Array.from(reinforcePlusPlus({ rows, rewards: values }).advantages)).toEqual([0, 0, 0]);
    const estimate = gae({ rows, rewards: values, values: new Float64Array(3).fill(1) });
    expect(Array.from(estimate.advantages)).toEqual([0, 0, 0]);
    expect(Array.from(estimate.returns)).toEqual([0, 3, 0]);
  });

  it("rows without trained tokens, and batches of them, give 0", () => {
    const { rows, values } = pack([[null, null], [], [null]]);
    const full = {
      rows,
      rewards: values,
      values,
      groups: [0, 0, 0],
      baselines: new Float64Array(3),
      oldLogprobs: values,
      squaredProbabilities: values,
    };
    for (const name of ["gae", "grpo", "opo", "gpg", "remax", "optimal_token_baseline"] as const)
      expect(Array.from(advantageEstimators[name].estimate(full).advantages)).toEqual([0, 0, 0]);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])(
    "a reward of %d is an error that says where",
    (bad) => {
      const { rows, values } = pack([
        [1, 2],
        [null, 3, bad],
      ]);
      for (const name of ["gae", "grpo", "reinforce_plus_plus", "remax"] as const) {
        const batch = { rows, rewards: values, values: new Float64Array(5), groups: [0, 0] };
        const run = () =>
          advantageEstimators[name].estimate({ ...batch, baselines: new Float64Array(2) });
        expect(run).toThrow(NonFiniteError);
        expect(run).toThrow(/the reward of row 1, token 2 is -?(NaN|Infinity), expected a finite/);
      }
    },
  );

  it("rewards that overflow are an error", () => {
    const { rows, values } = pack([[1e308, 1e308]]);
    expect(() => grpo({ rows, rewards: values, groups: [0] })).toThrow(
      /sum of rewards of row 0 is Infinity/,
    );
  });

  it("a value of the critic that is not finite is an error, a greedy score too", () => {
    const values = Float64Array.from([1, Number.NaN]);
    expect(() => gae({ rows: one.rows, rewards: one.values, values })).toThrow(
      /the value of row 0, token 1 is NaN/,
    );
    expect(() =>
      remax({ rows: one.rows, rewards: one.values, baselines: Float64Array.from([1 / 0]) }),
    ).toThrow(/greedy baseline of row 0 is Infinity/);
  });

  it("says what does not fit together", () => {
    const { rows, values } = one;
    const groups = [0];
    expect(() => grpo({ rows, rewards: new Float64Array(3), groups })).toThrow(
      /grpo: the rewards has 3 entries, expected 2/,
    );
    expect(() => grpo({ rows, rewards: values, groups: [0, 1] })).toThrow(
      /groups has 2 entries, expected 1/,
    );
    const offsets = Int32Array.from([0, 3]);
    expect(() => grpo({ rows: { ...rows, offsets }, rewards: values, groups })).toThrow(
      /offsets end at 3, the mask has 2 tokens/,
    );
    const mask = Uint8Array.from([1, 2]);
    expect(() => grpo({ rows: { ...rows, mask }, rewards: values, groups })).toThrow(
      /mask of token 1 is 2/,
    );
    const backwards = Int32Array.from([0, 2, 1, 2]);
    expect(() =>
      reinforcePlusPlus({ rows: { ...rows, offsets: backwards }, rewards: values }),
    ).toThrow(/row 1 ends at 1 before it starts at 2/);
    const two = pack([[1], [2]]);
    const trajectories = ["x", "x"];
    expect(() =>
      grpo({ rows: two.rows, rewards: two.values, groups: [0, 1], trajectories }),
    ).toThrow(/trajectory x stands in the groups 0 and 1/);
  });

  it("the optimal token baseline leaves a lonely tail alone when told to", () => {
    const { rows, values } = pack([[0, 0, 6], [2]]);
    const input = {
      rows,
      rewards: values,
      groups: [0, 0],
      oldLogprobs: new Float64Array(4).fill(-1),
      squaredProbabilities: new Float64Array(4).fill(0.5),
    };
    const turn = optimalTokenBaseline(input, { align: "turn" }).advantages;
    expect(turn[2]).toBe(6);
    const kept = optimalTokenBaseline(input, { align: "turn", zeroTail: false }).advantages;
    expect(kept[2]).toBeCloseTo(0, 6);
    expectClose(optimalTokenBaseline(input, { zeroTail: true }).advantages, turn);
  });
});
