/**
 * @file Metrics of one rejection option: how far rollout and training are apart by its measure, and how
 * much it rejects. Names and meanings as verl's compute_rs_metrics.
 */
import { moments } from "../statistics.ts";
import type { Mismatch } from "./input.ts";
import type { Bounds } from "./rejection-options.ts";
import { largest, smallest } from "./weights.ts";

/** `perRow`: the rows' values, for options that judge whole rows. */
export function rejectionMetrics(
  option: string,
  { lower, upper }: Bounds,
  mismatch: Mismatch,
  values: Float64Array,
  perRow: readonly number[] | undefined,
  rejected: Uint8Array,
): Record<string, number> {
  const { rows, tokensOf, rowMean } = mismatch;
  const prefix = `rollout_rs_${option}`;
  // A row option's value stands on each of its tokens, so that means over tokens weigh by length.
  const ofTokens = rows.flatMap((row, i) =>
    [...tokensOf(row)].map((token) => perRow?.[i] ?? values[token]!),
  );
  if (ofTokens.length === 0) return {};
  const ofRows = perRow ?? rows.map((row) => rowMean(row, values));
  const judged = perRow ?? ofTokens;
  const share = (list: readonly number[], test: (value: number) => boolean) =>
    list.filter(test).length / list.length;
  const high = (value: number) => value > upper;
  const low = (value: number) => lower !== undefined && value < lower;
  const limited = ofTokens.map((value) => Math.min(Math.max(value, lower ?? 0), upper));
  const { variance, count } = moments(limited);
  const rowMoments = moments(ofRows);
  const touched = rows.filter((row) => [...tokensOf(row)].some((token) => rejected[token] === 1));
  return {
    [`${prefix}_mean`]: moments(ofTokens).mean,
    [`${prefix}_max`]: largest(judged),
    [`${prefix}_min`]: smallest(judged),
    [`${prefix}_fraction_high`]: share(judged, high),
    [`${prefix}_fraction_low`]: share(judged, low),
    // Of the population, as the reference has it.
    [`${prefix}_std`]: Math.sqrt((variance * (count - 1)) / count),
    [`${prefix}_seq_mean`]: rowMoments.mean,
    [`${prefix}_seq_std`]: Math.sqrt(rowMoments.variance),
    [`${prefix}_seq_max`]: largest(ofRows),
    [`${prefix}_seq_min`]: smallest(ofRows),
    [`${prefix}_seq_max_deviation`]: largest(ofRows.map(Math.abs)),
    [`${prefix}_seq_fraction_high`]: share(ofRows, high),
    ...(lower === undefined ? {} : { [`${prefix}_seq_fraction_low`]: share(ofRows, low) }),
    [`${prefix}_masked_fraction`]: rejected.reduce((sum, one) => sum + one, 0) / ofTokens.length,
    [`${prefix}_seq_masked_fraction`]: touched.length / rows.length,
  };
}
