/**
 * @file Random data for losses, and every loss as a function of it: its value, gradient and metrics.
 */
import * as fc from "fast-check";
import {
  AGGREGATION_MODES,
  type AggregationMode,
  type countsOf,
  type KlEstimator,
  klLoss,
  type PolicyLossName,
  policyLoss,
  policyLosses,
  type Rows,
  valueLoss,
} from "../../src/algorithms/index.ts";
import { fromTypedArray, tidy } from "../../src/torch/index.ts";

export interface LossData {
  rows: Rows;
  logprobs: Float64Array;
  old: Float64Array;
  advantages: Float64Array;
  weights: Float64Array;
}

export const randomData: fc.Arbitrary<LossData> = fc
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
export function slice(data: LossData, from: number, to: number): LossData {
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
export const leaf = (values: Float64Array, dtype: Dtype = "float64") =>
  fromTypedArray(values, undefined, { dtype, requiresGrad: true });

/** A loss's value, gradient and metrics. */
interface Result {
  loss: number;
  gradient: Float64Array;
  metrics: Record<string, number>;
}

export type Evaluate = (
  data: LossData,
  counts: ReturnType<typeof countsOf>,
  dtype?: Dtype,
) => Result;

export function evaluatePolicy(name: PolicyLossName, aggregation: AggregationMode): Evaluate {
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

export function evaluateKl(estimator: KlEstimator, aggregation: AggregationMode): Evaluate {
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

export const SPLITTABLE = (Object.keys(policyLosses) as PolicyLossName[]).filter(
  (name) => !name.endsWith("_cov"),
);
export const LOSSES: [string, Evaluate][] = [
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
