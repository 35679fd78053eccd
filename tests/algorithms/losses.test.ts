/**
 * @file Losses: gradients against differences in float64, plain twins where the gradient is not that of
 * the value, that no cut into micro-batches or ranks matters, and input at the edge.
 */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  AGGREGATION_MODES,
  type AggregationMode,
  actorLoss,
  addCounts,
  addMetrics,
  countsOf,
  entropyBonus,
  entropyFromLogits,
  type KlEstimator,
  klLoss,
  type PolicyLossName,
  policyLoss,
  policyLosses,
  type Rows,
  sumOfSquaredProbabilities,
  tokenWeights,
  valueLoss,
} from "../../src/algorithms/index.ts";
import {
  fromTypedArray,
  Generator,
  memory,
  type Tensor,
  tensor,
  tidy,
} from "../../src/torch/index.ts";

interface LossData {
  rows: Rows;
  logprobs: Float64Array;
  old: Float64Array;
  advantages: Float64Array;
  weights: Float64Array;
}

const randomData: fc.Arbitrary<LossData> = fc
  .array(
    fc.array(
      fc.record({
        trained: fc.boolean(),
        logprob: fc.double({ min: -3, max: 0, noNaN: true }),
        delta: fc.double({ min: -1, max: 1, noNaN: true }),
        advantage: fc.double({ min: -2, max: 2, noNaN: true }),
      }),
      { maxLength: 5 },
    ),
    { minLength: 1, maxLength: 5 },
  )
  .map((rows) => {
    const tokens = rows.flat();
    const offsets = new Int32Array(rows.length + 1);
    for (const [i, row] of rows.entries()) offsets[i + 1] = offsets[i]! + row.length;
    return {
      rows: { offsets, mask: Uint8Array.from(tokens, ({ trained }) => Number(trained)) },
      logprobs: Float64Array.from(tokens, ({ logprob }) => logprob),
      old: Float64Array.from(tokens, ({ logprob, delta }) => logprob - delta),
      advantages: Float64Array.from(tokens, ({ advantage }) => advantage),
      weights: Float64Array.from(tokens, ({ delta }) => 1 + delta / 2),
    };
  });

/** Some rows of the data, from one number to another. */
function slice(data: LossData, from: number, to: number): LossData {
  const start = data.rows.offsets[from]!;
  const end = data.rows.offsets[to]!;
  return {
    rows: {
      offsets: data.rows.offsets.slice(from, to + 1).map((offset) => offset - start),
      mask: data.rows.mask.slice(start, end),
    },
    logprobs: data.logprobs.slice(start, end),
    old: data.old.slice(start, end),
    advantages: data.advantages.slice(start, end),
    weights: data.weights.slice(start, end),
  };
}

type Dtype = "float64" | "float32";
const leaf = (values: Float64Array, dtype: Dtype = "float64") =>
  fromTypedArray(values, undefined, { dtype, requiresGrad: true });

/** A loss's value, gradient and metrics. */
interface Result {
  loss: number;
  gradient: Float64Array;
  metrics: Record<string, number>;
}

type Evaluate = (data: LossData, counts: ReturnType<typeof countsOf>, dtype?: Dtype) => Result;

function evaluatePolicy(name: PolicyLossName, aggregation: AggregationMode): Evaluate {
  return (data, counts, dtype) =>
    tidy(() => {
      const logprobs = leaf(data.logprobs, dtype);
      const { loss, metrics } = policyLoss(name, {
        logprobs,
        oldLogprobs: data.old,
        advantages: data.advantages,
        importanceWeights: data.weights,
        rows: data.rows,
        counts,
        aggregation,
        horizon: 7,
      });
      loss.backward();
      return { loss: loss.item(), gradient: logprobs.grad!.toNumbers(), metrics };
    });
}

function evaluateKl(estimator: KlEstimator, aggregation: AggregationMode): Evaluate {
  return (data, counts, dtype) =>
    tidy(() => {
      const logprobs = leaf(data.logprobs, dtype);
      const { rows, old } = data;
      const input = { logprobs, referenceLogprobs: old, rows, counts, aggregation, horizon: 7 };
      const { loss, metrics } = klLoss(input, estimator);
      loss.backward();
      return { loss: loss.item(), gradient: logprobs.grad!.toNumbers(), metrics };
    });
}

function evaluateValue(aggregation: AggregationMode): Evaluate {
  return (data, counts, dtype) =>
    tidy(() => {
      const values = leaf(data.logprobs, dtype);
      const { rows } = data;
      const input = { values, oldValues: data.old, returns: data.advantages, rows, counts };
      const { loss, metrics } = valueLoss({ ...input, aggregation, horizon: 7 });
      loss.backward();
      return { loss: loss.item(), gradient: values.grad!.toNumbers(), metrics };
    });
}

const SPLITTABLE = (Object.keys(policyLosses) as PolicyLossName[]).filter(
  (name) => !name.endsWith("_cov"),
);
const LOSSES: [string, Evaluate][] = [
  ...SPLITTABLE.flatMap((name) =>
    AGGREGATION_MODES.map((mode): [string, Evaluate] => [
      `${name}, ${mode}`,
      evaluatePolicy(name, mode),
    ]),
  ),
  ...AGGREGATION_MODES.map((mode): [string, Evaluate] => [`k3, ${mode}`, evaluateKl("k3", mode)]),
  ["k3+", evaluateKl("k3+", "token-mean")],
  ...AGGREGATION_MODES.map((mode): [string, Evaluate] => [`value, ${mode}`, evaluateValue(mode)]),
];

describe.each(LOSSES)("%s", (_, evaluate) => {
  it("does not depend on the cut into micro-batches or ranks", () => {
    fc.assert(
      fc.property(
        randomData,
        fc.array(fc.boolean(), { minLength: 5, maxLength: 5 }),
        (data, cuts) => {
          const count = data.rows.offsets.length - 1;
          const borders = [
            0,
            ...cuts.flatMap((cut, i) => (cut && i + 1 < count ? [i + 1] : [])),
            count,
          ];
          const parts = borders.slice(1).map((end, i) => slice(data, borders[i]!, end));
          const counts = addCounts(parts.map((part) => countsOf(part.rows)));
          expect(counts).toEqual(countsOf(data.rows));
          for (const [dtype, tolerance] of [
            ["float64", 1e-12],
            ["float32", 1e-6],
          ] as const) {
            const whole = evaluate(data, counts, dtype);
            const results = parts.map((part) => evaluate(part, counts, dtype));
            const sum = results.reduce((total, { loss }) => total + loss, 0);
            expect(Math.abs(sum - whole.loss)).toBeLessThanOrEqual(tolerance * (1 + Math.abs(sum)));
            const gradient = results.flatMap((result) => Array.from(result.gradient));
            for (const [i, value] of gradient.entries())
              expect(Math.abs(value - whole.gradient[i]!)).toBeLessThanOrEqual(tolerance);
            const metrics = addMetrics(results.map((result) => result.metrics));
            for (const [name, value] of Object.entries(metrics))
              expect(value).toBeCloseTo(whole.metrics[name]!, 5);
          }
        },
      ),
      { numRuns: 6 },
    );
  });

  it("does not see values under mask 0, and gives them no gradient", () => {
    fc.assert(
      fc.property(randomData, fc.constantFrom(Number.NaN, -1 / 0, 1e30), (data, value) => {
        const poison = (values: Float64Array) =>
          values.map((old, i) => (data.rows.mask[i] === 1 ? old : value));
        const poisoned: LossData = {
          rows: data.rows,
          logprobs: poison(data.logprobs),
          old: poison(data.old),
          advantages: poison(data.advantages),
          weights: poison(data.weights),
        };
        const counts = countsOf(data.rows);
        const result = evaluate(poisoned, counts);
        expect(result).toEqual(evaluate(data, counts));
        for (const [i, gradient] of result.gradient.entries())
          if (data.rows.mask[i] === 0) expect(gradient === 0).toBe(true);
      }),
      { numRuns: 4 },
    );
  });
});

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

describe("the actor's loss", () => {
  it("is policy − c·entropy + c·kl", () => {
    tidy(() => {
      const one = (value: number) => tensor(value, { dtype: "float64" });
      const loss = actorLoss({
        policy: one(1),
        entropy: { loss: one(3), coefficient: 0.1 },
        kl: { loss: one(5), coefficient: 0.01 },
      });
      expect(loss.item()).toBeCloseTo(1 - 0.3 + 0.05, 12);
      expect(actorLoss({ policy: one(2) }).item()).toBe(2);
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

describe("token weights", () => {
  it.each(AGGREGATION_MODES)("of %s are the formula's", (aggregation) => {
    fc.assert(
      fc.property(randomData, ({ rows, logprobs: losses }) => {
        const counts = countsOf(rows);
        const weights = tokenWeights({ rows, counts, aggregation, horizon: 9 });
        const sum = weights.reduce((total, weight, i) => total + weight * losses[i]!, 0);
        const perRow = Array.from({ length: rows.offsets.length - 1 }, (_, row) => {
          const tokens = Array.from(losses.keys()).filter(
            (t) => t >= rows.offsets[row]! && t < rows.offsets[row + 1]! && rows.mask[t] === 1,
          );
          return { n: tokens.length, sum: tokens.reduce((total, t) => total + losses[t]!, 0) };
        }).filter(({ n }) => n > 0);
        const total = (f: (row: { n: number; sum: number }) => number) =>
          perRow.reduce((all, row) => all + f(row), 0);
        const expected = {
          "token-mean": () => total((row) => row.sum) / total((row) => row.n),
          "seq-mean-token-sum": () => total((row) => row.sum) / perRow.length,
          "seq-mean-token-mean": () => total((row) => row.sum / row.n) / perRow.length,
          "seq-mean-token-sum-norm": () => total((row) => row.sum / 9) / perRow.length,
        }[aggregation]();
        expect(sum).toBeCloseTo(perRow.length === 0 ? 0 : expected, 10);
      }),
      { numRuns: 40 },
    );
  });
});
