/**
 * @file Rollout against training: weights, rejection and metrics against plain twins, and at the edge.
 */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  importanceWeights,
  offPolicyMetrics,
  probabilityDifferences,
  REJECTION_OPTIONS,
  rejectMismatch,
} from "../../src/algorithms/index.ts";
import { pack, randomBatch } from "./batches.ts";

const { rows, values: rolloutLogprobs } = pack([[-1, null, -2], [-0.5], [null]]);
const trainLogprobs = Float64Array.from([-0.5, 7, -3, -0.6, 9]);
const batch = { rows, trainLogprobs, rolloutLogprobs };

describe("importance weights", () => {
  it("are ratios of tokens, or of rows, cut off above", () => {
    const token = importanceWeights(batch, { threshold: 1.5 }).weights;
    expect(Array.from(token)).toEqual([1.5, 0, Math.exp(-1), Math.exp(-0.6 + 0.5), 0]);
    const sequence = importanceWeights(batch, { level: "sequence" }).weights;
    const row = Math.exp(0.5 - 1);
    for (const [i, expected] of [row, 0, row, Math.exp(-0.1), 0].entries())
      expect(sequence[i]).toBeCloseTo(expected, 12);
  });

  it("have mean 1 when normalised", () => {
    const { weights, metrics } = importanceWeights(batch, { normalize: true });
    expect((weights[0]! + weights[2]! + weights[3]!) / 3).toBeCloseTo(1, 12);
    expect(metrics.rollout_is_batch_norm_factor).toBeGreaterThan(0);
  });

  it("leave rows without trained tokens out of means over rows", () => {
    const ours = importanceWeights(batch).metrics.rollout_is_seq_min!;
    expect(ours).toBeGreaterThan(0);
    expect(importanceWeights(batch, { countEmptyRows: true }).metrics.rollout_is_seq_min).toBe(0);
  });

  it("do not overflow, and are 1 in perfect agreement, with all samples effective", () => {
    const far = { ...batch, trainLogprobs: Float64Array.from([900, 0, 900, -900, 0]) };
    for (const level of ["token", "sequence"] as const) {
      const { weights, metrics } = importanceWeights(far, { level });
      for (const value of [...weights, ...Object.values(metrics)])
        expect(Number.isFinite(value)).toBe(true);
    }
    const same = importanceWeights({ ...batch, trainLogprobs: rolloutLogprobs });
    expect(Array.from(same.weights)).toEqual([1, 0, 1, 1, 0]);
    expect(same.metrics.rollout_is_eff_sample_size).toBe(1);
  });

  it("are all 0, without metrics, when nothing is trained", () => {
    const none = pack([[null]]).rows;
    const zero = Float64Array.from([0]);
    const input = { rows: none, trainLogprobs: zero, rolloutLogprobs: zero };
    expect(importanceWeights(input)).toEqual({ weights: Float64Array.from([0]), metrics: {} });
    expect(offPolicyMetrics(input)).toEqual({});
    expect(probabilityDifferences(input)).toEqual({ "training/rollout_probs_diff_valid": 0 });
  });

  it("refuse what they do not know", () => {
    expect(() => importanceWeights(batch, { level: "turn" as "token" })).toThrow(/unknown level/);
    expect(() => importanceWeights(batch, { threshold: 0 })).toThrow(/threshold is 0/);
    const bad = { ...batch, trainLogprobs: Float64Array.from([0, 0, Number.NaN, 0, 0]) };
    expect(() => importanceWeights(bad)).toThrow(
      /training log-probability of row 0, token 2 is NaN/,
    );
  });
});

describe("rejection", () => {
  /** The rule of one option, token by token, written out. */
  function plainMask(option: string, threshold: number, input: typeof batch): number[] {
    const { offsets, mask } = input.rows;
    const kind = option.slice(-2);
    const measure = (t: number) => {
      const d = input.trainLogprobs[t]! - input.rolloutLogprobs[t]!;
      return kind === "k1" ? -d : kind === "k2" ? d ** 2 / 2 : Math.exp(d) - 1 - d;
    };
    const keep = (value: number) =>
      kind === "k1"
        ? value >= -Math.log(threshold) && value <= Math.log(threshold)
        : value <= threshold;
    return Array.from(mask, (trained, t) => {
      if (trained === 0) return 0;
      if (option.startsWith("token")) return Number(keep(measure(t)));
      const row = offsets.findLastIndex((offset) => offset <= t);
      const values = Array.from(mask.keys())
        .filter((i) => i >= offsets[row]! && i < offsets[row + 1]! && mask[i] === 1)
        .map(measure);
      const sum = values.reduce((total, value) => total + value, 0);
      if (option.startsWith("seq_sum")) return Number(keep(sum));
      if (option.startsWith("seq_mean")) return Number(keep(sum / values.length));
      return Number(keep(Math.max(...values)));
    });
  }

  it.each(REJECTION_OPTIONS)("%s is its rule written out", (option) => {
    fc.assert(
      fc.property(randomBatch, fc.constantFrom(1.05, 1.3, 2), (full, threshold) => {
        const input = {
          rows: full.rows,
          trainLogprobs: Float64Array.from(full.oldLogprobs),
          rolloutLogprobs: Float64Array.from(full.values, (value) => value - 0.6),
        };
        const { rows: kept, metrics } = rejectMismatch(input, option, threshold);
        expect(Array.from(kept.mask)).toEqual(plainMask(option, threshold, input));
        const before = input.rows.mask.reduce((sum, one) => sum + one, 0);
        const after = kept.mask.reduce((sum, one) => sum + one, 0);
        expect(metrics.rollout_rs_masked_fraction).toBeCloseTo(1 - after / before, 12);
        expect(Object.values(metrics).every(Number.isFinite)).toBe(true);
      }),
      { numRuns: 25 },
    );
  });

  it("of several options keeps what all of them keep", () => {
    const one = rejectMismatch(batch, "token_k1", "0.5_1.2").rows.mask;
    const other = rejectMismatch(batch, "token_k2", 0.3).rows.mask;
    const both = rejectMismatch(batch, "token_k1, token_k2", "0.5_1.2,0.3").rows.mask;
    expect(Array.from(both)).toEqual(Array.from(one, (value, i) => value & other[i]!));
  });

  it.each([
    ["seq_min_k1", "2", /unknown option seq_min_k1; expected token_k1/],
    ["", "2", /no option given/],
    ["token_k1,token_k2", "1,2,3", /3 thresholds for 2 options/],
    ["token_k2", "1_2", /threshold of token_k2 is "1_2"; expected one positive number/],
    ["token_k1", "0_2", /two positive ratios/],
    ["token_k3", "x", /is "x"/],
  ])("refuses %s with %s", (options, threshold, message) => {
    expect(() => rejectMismatch(batch, options, threshold)).toThrow(message);
  });
});

describe("metrics", () => {
  it("are 0 in perfect agreement", () => {
    const same = { ...batch, trainLogprobs: rolloutLogprobs };
    const { kl, k3_kl, chi2_token, chi2_seq, ppl_ratio } = offPolicyMetrics(same);
    expect([kl, k3_kl, chi2_token, chi2_seq, ppl_ratio].map((value) => value! + 0)).toEqual([
      0, 0, 0, 0, 1,
    ]);
    expect(probabilityDifferences(same)).toMatchObject({
      "training/rollout_probs_diff_max": 0,
      "training/rollout_actor_probs_pearson_corr": expect.closeTo(1, 12),
    });
  });

  it("of probabilities are their differences", () => {
    const metrics = probabilityDifferences(batch);
    const differences = [0, 2, 3].map((t) =>
      Math.abs(Math.exp(trainLogprobs[t]!) - Math.exp(rolloutLogprobs[t]!)),
    );
    expect(metrics["training/rollout_probs_diff_max"]).toBe(Math.max(...differences));
    const mean = differences.reduce((sum, value) => sum + value, 0) / 3;
    expect(metrics["training/rollout_probs_diff_mean"]).toBeCloseTo(mean, 12);
  });
});
