/**
 * @file Metrics of a loss: means of values per token over the mini-batch's trained tokens. What is given
 * is the share of the rows at hand: add it up over micro-batches and ranks (`addMetrics`).
 */
import { fromTypedArray, stack, type Tensor, tidy } from "../../torch/index.ts";
import { type AggregationInput, tokenWeights } from "./aggregation.ts";

/** The values must be finite under mask 0 too, as everything computed from `maskedInput` is. */
export function tokenMeans(
  metrics: Record<string, Tensor>,
  { rows, counts, computed = counts }: AggregationInput,
): Record<string, number> {
  const names = Object.keys(metrics);
  if (names.length === 0) return {};
  const means = tidy(() => {
    const values = stack(names.map((name) => metrics[name]!.detach().to("float64")));
    const weights = tokenWeights({ rows, counts: computed, aggregation: "token-mean" });
    const options = { dtype: "float64", device: values.device } as const;
    return values.matmul(fromTypedArray(weights, undefined, options)).toNumbers();
  });
  return Object.fromEntries(names.map((name, i) => [name, means[i]!]));
}
