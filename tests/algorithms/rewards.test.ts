/**
 * @file What happens to rewards before advantages: KL, controllers, whitening, overlong shaping, dynamic
 * sampling, resampling; and learning from pairs.
 */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  answerLogprobs,
  dpoLoss,
  labelledLoss,
  dynamicSampling,
  klController,
  klEstimate,
  klInReward,
  moments,
  overlongPenalty,
  resampleRows,
  resampleWeights,
  rewardModelLoss,
  updateKlController,
  whitenRewards,
} from "../../src/algorithms/index.ts";
import { fromTypedArray, Generator, memory, type Tensor, tidy } from "../../src/torch/index.ts";
import { pack } from "./batches.ts";

describe("KL in the reward", () => {
  const { rows, values: scores } = pack([[0, null, 1], [2], [null]]);
  const oldLogprobs = Float64Array.from([-1, 5, -2, -0.5, 9]);
  const referenceLogprobs = Float64Array.from([-1.5, Number.NaN, -1, -0.5, -1 / 0]);

  it("is taken from trained tokens, and measured as the mean over rows of means over tokens", () => {
    const result = klInReward({ rows, scores, oldLogprobs, referenceLogprobs }, 0.1, "k1");
    expect(Array.from(result.rewards)).toEqual([-0.05, 0, 1.1, 2, 0]);
    expect(result.kl).toBeCloseTo((-0.25 + 0) / 2, 12);
    expect(result.metrics).toEqual({
      "actor/reward_kl_penalty": result.kl,
      "actor/reward_kl_penalty_coeff": 0.1,
    });
  });

  it("says where a log-probability is not finite", () => {
    const bad = Float64Array.from([-1, 0, -1 / 0, 0, 0]);
    expect(() => klInReward({ rows, scores, oldLogprobs, referenceLogprobs: bad }, 1)).toThrow(
      /reference log-probability of row 0, token 2 is -Infinity/,
    );
  });

  it("is 0 for a batch in which nothing is trained", () => {
    const none = pack([[null]]);
    const zero = Float64Array.from([0]);
    const input = { rows: none.rows, scores: zero, oldLogprobs: zero, referenceLogprobs: zero };
    expect(klInReward(input, 1).kl).toBe(0);
  });

  it("knows its estimators", () => {
    expect(klEstimate("k3", -1, -1.5)).toBeCloseTo(Math.exp(-0.5) + 0.5 - 1, 12);
    expect(klEstimate("low_var_kl+", 0, 50)).toBe(10);
    expect(klEstimate("abs", -3, -1)).toBe(2);
    expect(() => klEstimate("k9" as "k1", 0, 0)).toThrow(/Unknown KL estimator k9/);
  });
});

describe("KL controllers", () => {
  it("are plain objects that a checkpoint can hold", () => {
    let controller = klController({
      type: "adaptive",
      coefficient: 0.2,
      target: 0.1,
      horizon: 100,
    });
    controller = updateKlController(controller, 0.2, 10);
    expect(JSON.parse(JSON.stringify(controller))).toEqual(controller);
    expect(controller.coefficient).toBeCloseTo(0.204, 12);
    const fixed = klController();
    expect(updateKlController(fixed, 5, 10)).toEqual({ type: "fixed", coefficient: 0.001 });
  });

  it("raise β when the KL is above its target and lower it below, by at most a fifth per horizon", () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 10, noNaN: true }), fc.nat({ max: 100 }), (kl, n) => {
        const before = klController({ type: "adaptive", coefficient: 1, horizon: 1000 });
        const { coefficient } = updateKlController(before, kl, n);
        if (kl > 0.1) expect(coefficient).toBeGreaterThanOrEqual(1);
        else expect(coefficient).toBeLessThanOrEqual(1);
        expect(Math.abs(coefficient - 1)).toBeLessThanOrEqual((0.2 * n) / 1000 + 1e-12);
      }),
    );
  });

  it("refuse what makes no sense", () => {
    expect(() => klController({ coefficient: -1 })).toThrow(/coefficient is -1/);
    expect(() => klController({ type: "adaptive", horizon: 0 })).toThrow(/horizon is 0/);
    expect(() => klController({ type: "adaptive", target: 0 })).toThrow(/target is 0/);
    expect(() => updateKlController(klController(), Number.NaN, 1)).toThrow(/KL is NaN/);
  });
});

describe("whitened rewards", () => {
  it("have variance 1 and keep their mean, or lose it", () => {
    const { rows, values } = pack([[1, 2, null], [4]]);
    const kept = moments(whitenRewards(rows, values), rows.mask);
    expect(kept.mean).toBeCloseTo(7 / 3, 6);
    expect(kept.variance).toBeCloseTo(1, 6);
    const moved = moments(whitenRewards(rows, values, { shiftMean: true }), rows.mask);
    expect(moved.mean).toBeCloseTo(0, 12);
  });
});

describe("overlong shaping", () => {
  it.each([
    [50, 0],
    [80, 0],
    [90, -0.5],
    [100, -1],
    [110, -1.5],
  ])("length %d costs %d", (length, penalty) => {
    expect(overlongPenalty(length, { maximum: 100, buffer: 20 })).toBe(penalty);
    expect(overlongPenalty(length, { maximum: 100, buffer: 20, factor: 2 })).toBe(penalty * 2);
  });

  it("refuses a buffer that is no stretch of the maximum", () => {
    expect(() => overlongPenalty(1, { maximum: 10, buffer: 11 })).toThrow(/buffer is 11 tokens/);
    expect(() => overlongPenalty(1, { maximum: 10, buffer: 0 })).toThrow(/buffer is 0 tokens/);
  });
});

describe("dynamic sampling", () => {
  it("drops groups without variance, and keeps groups of one", () => {
    const scores = Float64Array.from([0.1, 1, 0.1, 0, 0.1, 3]);
    const result = dynamicSampling(scores, ["a", "b", "a", "b", "a", "c"]);
    expect(result).toEqual({ rows: Int32Array.from([1, 3, 5]), kept: ["b", "c"], dropped: ["a"] });
    expect(dynamicSampling(scores, [1, 2, 1, 2, 1, 3], 2).dropped).toEqual([1, 2]);
  });
});

describe("resampling", () => {
  const scores = Float64Array.from([-2, 1, 3, 0]);

  it("weighs as PF-PPO says", () => {
    const round = (values: Float64Array) => Array.from(values, (value) => Number(value.toFixed(6)));
    expect(round(resampleWeights(scores))).toEqual([4, 1, 9, 0]);
    expect(round(resampleWeights(scores, "pow", 1))).toEqual([2, 1, 3, 0]);
    expect(round(resampleWeights(scores, "max_min"))).toEqual([1, 0, 1, 0]);
    expect(round(resampleWeights(scores, "max_random"))).toEqual([0.1, 0.1, 0.4, 0.1]);
    expect(() => resampleWeights(scores, "best" as "pow")).toThrow(/unknown method best/);
  });

  it("draws by weight, reproducibly, and leaves no tensors behind", () => {
    const weights = resampleWeights(scores);
    const before = memory().tensors;
    const draw = () => resampleRows(weights, new Generator(5), 2000);
    const rows = draw();
    expect(draw()).toEqual(rows);
    expect(memory().tensors).toBe(before);
    const share = rows.filter((row) => row === 2).length / rows.length;
    expect(share).toBeGreaterThan(0.58);
    expect(share).toBeLessThan(0.7);
    expect(resampleRows(new Float64Array(0), new Generator(1)).length).toBe(0);
  });
});

describe("pairs", () => {
  const numbers = (values: readonly number[]) => fromTypedArray(Float64Array.from(values));
  const policy = [-3, -5, -2.5, -4];

  /** The gradient of a loss with respect to four numbers, checked by differences. */
  function expectGradient(loss: (x: Tensor) => Tensor): void {
    tidy(() => {
      const x = numbers(policy).requiresGrad_();
      loss(x).backward();
      for (const [i, analytic] of x.grad!.toNumbers().entries()) {
        const at = (shift: number) =>
          loss(numbers(policy.map((value, j) => (i === j ? value + shift : value)))).item();
        expect(analytic).toBeCloseTo((at(1e-5) - at(-1e-5)) / 2e-5, 8);
      }
    });
  }

  const dpo = (x: Tensor, options: Parameters<typeof dpoLoss>[1], pairs?: number) =>
    dpoLoss(
      {
        chosen: x.narrow(0, 0, 2),
        rejected: x.narrow(0, 2, 2),
        referenceChosen: numbers([-3.2, -4.5]),
        referenceRejected: numbers([-2.4, -4.1]),
        // Answers of four and of two tokens.
        chosenMeans: x.narrow(0, 0, 2).div(numbers([4, 2])),
        pairs,
      },
      options,
    );

  it("DPO is the formula, with its gradient", () => {
    tidy(() => {
      const { loss, metrics } = dpo(numbers(policy), { beta: 0.5 });
      const h = [0.2 - -0.1, -0.5 - 0.1];
      const plain = h.map((value) => Math.log1p(Math.exp(-0.5 * value)));
      expect(loss.item()).toBeCloseTo((plain[0]! + plain[1]!) / 2, 12);
      expect(metrics["rewards/accuracies"]).toBe(0.5);
      expect(metrics["rewards/margins"]).toBeCloseTo((0.5 * (h[0]! + h[1]!)) / 2, 12);
      const half = dpo(numbers(policy), { beta: 0.5 }, 4).loss.item();
      expect(half).toBeCloseTo(loss.item() / 2, 12);
    });
    expectGradient((x) => dpo(x, { beta: 0.5, labelSmoothing: 0.1 }).loss);
    expectGradient((x) => dpo(x, { kind: "ipo" }).loss);
    tidy(() => {
      const [plain, held] = [0, 0.5].map((sftWeight) => dpo(numbers(policy), { sftWeight }).loss);
      const means = (policy[0]! / 4 + policy[1]! / 2) / 2;
      expect(held!.item() - plain!.item()).toBeCloseTo(-0.5 * means, 12);
    });
    expectGradient((x) => dpo(x, { sftWeight: 0.5 }).loss);
  });

  it("the reward model's loss is the formula, with its gradient", () => {
    const loss = (x: Tensor, margins?: Tensor) =>
      rewardModelLoss(
        { chosen: x.narrow(0, 0, 2), rejected: x.narrow(0, 2, 2), margins },
        { centeringCoefficient: 0.01 },
      );
    tidy(() => {
      const { loss: value, metrics } = loss(numbers(policy));
      const one = (c: number, r: number) => Math.log1p(Math.exp(r - c)) + 0.01 * (c + r) ** 2;
      expect(value.item()).toBeCloseTo((one(-3, -2.5) + one(-5, -4)) / 2, 12);
      expect(metrics.accuracy).toBe(0);
    });
    expectGradient((x) => loss(x, numbers([0.5, 1])).loss);
  });

  it("the loss of labels is binary cross-entropy, with its gradient", () => {
    const labels = [1, 0, 0.25, 0.9];
    const shares = [0.25, 0.25, 0.1, 0.4];
    const loss = (scores: Tensor) =>
      labelledLoss({ scores, labels: numbers(labels), shares: numbers(shares) });
    tidy(() => {
      const { loss: value, metrics } = loss(numbers(policy));
      const sigmoid = policy.map((score) => 1 / (1 + Math.exp(-score)));
      const expected = sigmoid.map(
        (p, i) => -shares[i]! * (labels[i]! * Math.log(p) + (1 - labels[i]!) * Math.log(1 - p)),
      );
      const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);
      expect(value.item()).toBeCloseTo(sum(expected), 12);
      // All scores are below 0: right where the label is below a half.
      expect(metrics.accuracy).toBeCloseTo(0.35, 12);
      expect(metrics.probability).toBeCloseTo(sum(sigmoid.map((p, i) => p * shares[i]!)), 12);
    });
    expectGradient((x) => loss(x).loss);
  });

  it("answers are summed over trained tokens", () => {
    tidy(() => {
      const { rows } = pack([[1, null, 1], [1]]);
      const logprobs = fromTypedArray(Float64Array.from([-1, Number.NaN, -2, -4]));
      expect(Array.from(answerLogprobs(logprobs, rows).toNumbers())).toEqual([-3, -4]);
      expect(Array.from(answerLogprobs(logprobs, rows, "mean").toNumbers())).toEqual([-1.5, -4]);
    });
  });

  it("say what is wrong", () => {
    tidy(() => {
      expect(() => dpo(numbers(policy), { beta: 0 })).toThrow(/beta is 0/);
      expect(() => dpo(numbers(policy), { labelSmoothing: 0.5 })).toThrow(/label smoothing is 0.5/);
      expect(() => dpo(numbers(policy), { sftWeight: -1 })).toThrow(/expected 0 or more/);
      expect(() => dpo(numbers([1, Number.NaN, 1, 1]), {})).toThrow(/chosen of row 1 is NaN/);
      const input = { chosen: numbers([1]), rejected: numbers([1, 2]) };
      expect(() => rewardModelLoss(input)).toThrow(/rejected has 2 entries, expected 1/);
    });
  });
});
