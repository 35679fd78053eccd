/**
 * @file Losses at the edge: nothing to train, ratios that run away, bad numbers, options and shapes.
 */
import { describe, expect, it } from "vitest";
import {
  type AggregationMode,
  countsOf,
  entropyBonus,
  klLoss,
  policyLoss,
  type Rows,
  valueLoss,
} from "../../src/algorithms/index.ts";
import { fromTypedArray, memory, type Tensor, tidy } from "../../src/torch/index.ts";
import { LOSSES, leaf, SPLITTABLE } from "./evaluated-losses.ts";

describe("at the edge", () => {
  const rows: Rows = { offsets: Int32Array.from([0, 2, 3]), mask: Uint8Array.from([1, 0, 1]) };
  const ones = Float64Array.from([1, 1, 1]);
  const good = (logprobs: Tensor) => ({
    logprobs,
    oldLogprobs: ones,
    advantages: ones,
    rows,
    counts: countsOf(rows),
  });

  it("a batch in which nothing is trained has loss and gradient 0", () => {
    const masked = { ...rows, mask: new Uint8Array(3) };
    for (const [, evaluate] of LOSSES) {
      const data = { rows: masked, logprobs: ones, old: ones, advantages: ones, weights: ones };
      const { loss, gradient } = evaluate(data, countsOf(masked));
      expect(loss).toBe(0);
      expect(Array.from(gradient, Math.abs)).toEqual([0, 0, 0]);
    }
  });

  it("an empty micro-batch beside full ones has loss 0", () => {
    const empty: Rows = { offsets: Int32Array.from([0]), mask: new Uint8Array(0) };
    const none = new Float64Array(0);
    const data = { rows: empty, logprobs: none, old: none, advantages: none, weights: none };
    for (const [, evaluate] of LOSSES) expect(evaluate(data, { tokens: 9, rows: 3 }).loss).toBe(0);
  });

  it("ratios that run away stay finite, and so do their gradients", () => {
    const far = Float64Array.from([-300, 0, 300]);
    for (const [name, evaluate] of LOSSES.filter(([, f]) => f !== undefined))
      for (const dtype of ["float64", "float32"] as const)
        for (const sign of [1, -1]) {
          const advantages = ones.map((one) => sign * one);
          const data = { rows, logprobs: far, old: ones, advantages, weights: ones };
          const { loss, gradient } = evaluate(data, countsOf(rows), dtype);
          expect(Number.isFinite(loss), name).toBe(true);
          expect(Array.from(gradient).every(Number.isFinite), name).toBe(true);
        }
  });

  it.each([
    ["log-probability", { logprobs: Float64Array.from([1, 1, Number.NaN]) }],
    ["old log-probability", { oldLogprobs: Float64Array.from([1, 1, 1 / 0]) }],
    ["advantage", { advantages: Float64Array.from([1, 1, -1 / 0]) }],
  ])("a bad %s is an error that says where", (what, bad) => {
    tidy(() => {
      const input = good(leaf("logprobs" in bad ? bad.logprobs : ones));
      const { logprobs: _, ...rest } = { logprobs: undefined, ...bad };
      expect(() => policyLoss("vanilla", { ...input, ...rest })).toThrow(
        new RegExp(`vanilla: the ${what} of row 1, token 0 is (NaN|-?Infinity)`),
      );
    });
  });

  it("says what is wrong with options and shapes", () => {
    tidy(() => {
      const x = leaf(ones);
      const input = good(x);
      expect(() => policyLoss("vanila" as "vanilla", input)).toThrow(
        /expected one of vanilla, ppo/,
      );
      expect(() => policyLoss("vanilla", input, { clipRatioC: 1 })).toThrow(/clipRatioC is 1/);
      expect(() => policyLoss("vanilla", input, { clipRatio: -1 })).toThrow(/clip range is -1/);
      expect(() => policyLoss("sapo", input, { tauNegative: 0 })).toThrow(/expected more than 0/);
      expect(() => policyLoss("vanilla", { ...input, advantages: new Float64Array(2) })).toThrow(
        /the advantage has 2 entries, expected 3/,
      );
      const square = fromTypedArray(ones, [3, 1]);
      expect(() => policyLoss("vanilla", { ...input, logprobs: square })).toThrow(
        /shape \[3,1\], expected \[tokens\]/,
      );
      expect(() =>
        policyLoss("vanilla", { ...input, aggregation: "seq-mean-token-sum-norm" }),
      ).toThrow(/divides by a constant length, but the horizon is undefined/);
      const unknown = "mean" as AggregationMode;
      expect(() => policyLoss("vanilla", { ...input, aggregation: unknown })).toThrow(
        /Unknown aggregation mean; expected token-mean/,
      );
      const values = { values: x, oldValues: ones, returns: ones, rows, counts: countsOf(rows) };
      expect(() => valueLoss(values, { clipRange: -1 })).toThrow(/clip range is -1/);
      const kl = { logprobs: x, referenceLogprobs: ones, rows, counts: countsOf(rows) };
      expect(() => klLoss(kl, "k4" as "k3")).toThrow(/Unknown KL estimator k4; expected kl, k1/);
    });
  });

  it("half precision is computed in float32", () => {
    tidy(() => {
      const x = fromTypedArray(ones, undefined, { dtype: "bfloat16", requiresGrad: true });
      const { loss } = policyLoss("vanilla", good(x));
      loss.backward();
      expect(loss.item()).toBe(-1);
      expect(x.grad!.dtype).toBe("bfloat16");
    });
  });

  it("leaves no tensors behind", () => {
    const x = leaf(ones);
    const before = memory().tensors;
    for (const name of SPLITTABLE) policyLoss(name, good(x)).loss.dispose();
    klLoss({ logprobs: x, referenceLogprobs: ones, rows, counts: countsOf(rows) }).loss.dispose();
    entropyBonus({ entropy: x, rows, counts: countsOf(rows) }).loss.dispose();
    expect(memory().tensors).toBe(before);
    x.dispose();
  });
});
