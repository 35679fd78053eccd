/**
 * @file Gradients of losses: against differences in float64, and against plain twins where the gradient is
 * not that of the value.
 */
import { describe, expect, it } from "vitest";
import {
  countsOf,
  entropyFromLogits,
  type KlEstimator,
  policyLoss,
  type Rows,
  sumOfSquaredProbabilities,
} from "../../src/algorithms/index.ts";
import { fromTypedArray, Generator, type Tensor, tensor, tidy } from "../../src/torch/index.ts";
import { evaluateKl, evaluatePolicy, LOSSES, type LossData, leaf } from "./evaluated-losses.ts";

describe("gradients", () => {
  // Away from the corners of clips and absolute values, where there are two of them.
  const data: LossData = {
    rows: {
      offsets: Int32Array.from([0, 4, 4, 7, 9]),
      mask: Uint8Array.from([1, 1, 0, 1, 1, 1, 1, 0, 0]),
    },
    logprobs: Float64Array.from([-1.2, -0.4, -9, -2.1, -0.8, -1.7, -0.3, -1, -1]),
    old: Float64Array.from([-1.25, -1.1, -1, -1.6, -0.85, -0.9, -0.25, -1, -1]),
    advantages: Float64Array.from([1.3, -0.7, 3, 0.6, -1.1, -2, 0.9, 1, 1]),
    weights: Float64Array.from([0.9, 1.4, 1, 2, 0.5, 1.1, 0.7, 1, 1]),
  };
  const counts = { tokens: 11, rows: 5 };
  const differentiable = LOSSES.filter(([name]) => !/^(gspo|cispo|k3\+)/.test(name));

  it.each(differentiable)("of %s are those of its value", (_, evaluate) => {
    const { gradient } = evaluate(data, counts);
    for (const [i, analytic] of gradient.entries()) {
      const at = (shift: number) => {
        const logprobs = data.logprobs.map((value, j) => (i === j ? value + shift : value));
        return evaluate({ ...data, logprobs }, counts).loss;
      };
      expect(analytic).toBeCloseTo((at(1e-5) - at(-1e-5)) / 2e-5, 8);
    }
  });

  it.each(["kl", "k1", "abs", "mse", "k2", "low_var_kl", "k3"] as const)(
    "of %s are its own",
    (kind) => {
      const evaluate = evaluateKl(kind, "token-mean");
      const { gradient } = evaluate(data, counts);
      for (const [i, analytic] of gradient.entries()) {
        const at = (shift: number) => {
          const logprobs = data.logprobs.map((value, j) => (i === j ? value + shift : value));
          return evaluate({ ...data, logprobs }, counts).loss;
        };
        expect(analytic).toBeCloseTo((at(1e-5) - at(-1e-5)) / 2e-5, 8);
      }
    },
  );

  it.each(["kl+", "k1+", "abs+", "k2+", "mse+", "k3+", "low_var_kl+"] as const)(
    "of %s are those of k2, its value is its own",
    (kind) => {
      const { gradient, loss } = evaluateKl(kind, "token-mean")(data, counts);
      for (const [i, value] of gradient.entries()) {
        const difference = data.logprobs[i]! - data.old[i]!;
        expect(value).toBeCloseTo(data.rows.mask[i] === 1 ? difference / 11 : 0, 12);
      }
      const plain = evaluateKl(kind.slice(0, -1) as KlEstimator, "token-mean")(data, counts);
      expect(loss).toBeCloseTo(plain.loss, 12);
    },
  );

  it("of cispo are the clipped weights times the advantages", () => {
    const { gradient } = evaluatePolicy("cispo", "token-mean")(data, counts);
    for (const [i, value] of gradient.entries()) {
      const ratio = Math.exp(data.logprobs[i]! - data.old[i]!);
      const clipped = Math.min(Math.max(ratio, 0.8), 1.2);
      const expected = (-clipped * data.advantages[i]! * data.weights[i]!) / 11;
      expect(value).toBeCloseTo(data.rows.mask[i] === 1 ? expected : 0, 12);
    }
  });

  it("of gspo are the row's ratio times the advantages, unless clipped", () => {
    const { gradient } = evaluatePolicy("gspo", "token-mean")(data, counts);
    const { offsets, mask } = data.rows;
    for (let row = 0; row < 4; row++) {
      const tokens: number[] = [];
      for (let t = offsets[row]!; t < offsets[row + 1]!; t++) if (mask[t]) tokens.push(t);
      const sum = tokens.reduce((total, t) => total + data.logprobs[t]! - data.old[t]!, 0);
      const ratio = Math.exp(sum / tokens.length);
      for (const token of tokens) {
        const advantage = data.advantages[token]!;
        const clipped = advantage > 0 ? ratio > 1.2 : ratio < 0.8;
        const plain = (-advantage * ratio * data.weights[token]!) / (5 * tokens.length);
        expect(gradient[token]).toBeCloseTo(clipped ? 0 : plain, 12);
      }
    }
  });

  it("of entropy and Σπ² are those of their values", () => {
    const logits = Float64Array.from([0.3, -1, 2, 0.5, 0.1, -0.4]);
    for (const measure of [entropyFromLogits, sumOfSquaredProbabilities])
      tidy(() => {
        const input = fromTypedArray(logits, [2, 3], { requiresGrad: true });
        measure(input).sum().backward();
        const gradient = input.grad!.toNumbers();
        for (const [i, value] of gradient.entries()) {
          const at = (shift: number) =>
            tidy(() => {
              const shifted = logits.map((one, j) => (i === j ? one + shift : one));
              return measure(fromTypedArray(shifted, [2, 3]))
                .sum()
                .item();
            });
          expect(value).toBeCloseTo((at(1e-5) - at(-1e-5)) / 2e-5, 8);
        }
      });
  });
});

describe("entropy and Σπ²", () => {
  it("are the sums they say", () => {
    tidy(() => {
      const logits = tensor(
        [
          [1, 2, 3],
          [0, 0, Number.NEGATIVE_INFINITY],
        ],
        { dtype: "float64" },
      );
      const probabilities = logits.softmax(-1).toArray() as number[][];
      const plain = (f: (p: number) => number) =>
        probabilities.map((row) => row.reduce((sum, p) => sum + (p > 0 ? f(p) : 0), 0));
      const entropy = entropyFromLogits(logits).toNumbers();
      const squares = sumOfSquaredProbabilities(logits).toNumbers();
      for (const [i, value] of plain((p) => -p * Math.log(p)).entries())
        expect(entropy[i]).toBeCloseTo(value, 12);
      for (const [i, value] of plain((p) => p * p).entries())
        expect(squares[i]).toBeCloseTo(value, 12);
    });
  });
});

describe("covariance losses", () => {
  const rows: Rows = { offsets: Int32Array.from([0, 4]), mask: Uint8Array.from([1, 1, 1, 1]) };
  const input = (logprobs: Tensor) => ({
    logprobs,
    oldLogprobs: Float64Array.from([-1.1, -1, -0.5, -3]),
    advantages: Float64Array.from([0, 0.1, 3, -2.5]),
    rows,
    counts: countsOf(rows),
  });
  const logprobs = Float64Array.from([-1, -1, -0.4, -3.1]);

  it("kl_cov holds back the token of the largest covariance", () => {
    tidy(() => {
      const x = leaf(logprobs);
      policyLoss("kl_cov", input(x), { klCovCoefficient: 2 }).loss.backward();
      const gradient = x.grad!.toNumbers();
      const plain = (i: number) => {
        const given = input(x);
        return (-given.advantages[i]! * Math.exp(logprobs[i]! - given.oldLogprobs[i]!)) / 4;
      };
      // Covariances by hand: the last token has the largest, and its Δ is negative.
      for (const i of [0, 1, 2]) expect(gradient[i]).toBeCloseTo(plain(i), 12);
      expect(gradient[3]).toBeCloseTo(plain(3) - 2 / 4, 12);
    });
  });

  it("clip_cov cuts out a token in the range, and needs a generator", () => {
    tidy(() => {
      const x = leaf(logprobs);
      const options = { clipCovLow: 1, clipCovHigh: 3, generator: new Generator(3) };
      const { loss, metrics } = policyLoss("clip_cov", input(x), options);
      loss.backward();
      expect(metrics["actor/pg_clipfrac"]).toBe(0.25);
      expect(Array.from(x.grad!.toNumbers()).filter((value) => value === 0).length).toBe(2);
      expect(() => policyLoss("clip_cov", input(x))).toThrow(/needs a generator/);
    });
  });
});
