/**
 * @file Losses as sums: no cut into micro-batches or ranks matters, nor what is under mask 0; weights of
 * tokens, and the parts that an actor's loss adds.
 */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  AGGREGATION_MODES,
  actorLoss,
  addCounts,
  addMetrics,
  countsOf,
  tokenWeights,
} from "../../src/algorithms/index.ts";
import { tensor, tidy } from "../../src/torch/index.ts";
import { LOSSES, type LossData, randomData, slice } from "./evaluated-losses.ts";

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
