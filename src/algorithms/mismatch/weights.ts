/**
 * @file Importance weights between the policy that sampled (rollout) and the one that is trained, as
 * it was before the update: they differ by numerics, by precision, or by age.
 *
 *   d_t = logπ_train − logπ_rollout
 *   token:     w_t = e^{clamp(d_t, ±20)}
 *   sequence:  w_t = e^{clamp(Σ d, ±20)}, the same on all tokens of a row
 *   truncated: min(w, threshold), threshold 2;  optionally divided by their mean over the batch
 *
 * Multiply a policy loss by them (`importanceWeights`). The metrics describe the weights before
 * truncation, except std and eff_sample_size, for which they are limited to [1/threshold, threshold].
 *
 * Source: Yao et al. 2025 (truncated importance sampling), fengyao.notion.site/off-policy-rl; verl
 * rollout_corr_helper.compute_rollout_correction_weights.
 */
import { moments } from "../statistics.ts";
import { type MismatchInput, type MismatchOptions, readMismatch } from "./input.ts";

export interface ImportanceWeightOptions extends MismatchOptions {
  level?: "token" | "sequence" | undefined;
  /** Default 2. */
  threshold?: number | undefined;
  /** Divide by the mean over the batch, so that the size of the step stays. Default false. */
  normalize?: boolean | undefined;
}

export interface ImportanceWeights {
  /** [tokens] 0 where the mask is 0. */
  weights: Float64Array;
  /** rollout_is_*; put "rollout_corr/" before them. */
  metrics: Record<string, number>;
}

export function importanceWeights(
  input: MismatchInput,
  options: ImportanceWeightOptions = {},
): ImportanceWeights {
  const { level = "token", threshold = 2 } = options;
  if (level !== "token" && level !== "sequence")
    throw new RangeError(`importanceWeights: unknown level ${level}; expected token or sequence`);
  if (!(threshold > 0))
    throw new RangeError(`importanceWeights: the threshold is ${threshold}, expected more than 0`);
  const { rows, differences, tokensOf, rowSum, rowMean } = readMismatch(
    "importanceWeights",
    input,
    options,
  );
  const raw = new Float64Array(differences.length);
  const exponents: number[] = []; // per token, or per row: the logarithms before the ±20
  for (const row of rows) {
    const sum = rowSum(row, differences);
    if (level === "sequence") exponents.push(sum);
    for (const token of tokensOf(row)) {
      const exponent = level === "sequence" ? sum : differences[token]!;
      if (level === "token") exponents.push(exponent);
      raw[token] = Math.exp(Math.min(Math.max(exponent, -20), 20));
    }
  }
  const weights = raw.map((weight) => Math.min(weight, threshold));
  const tokens = rows.flatMap((row) => [...tokensOf(row)]);
  if (tokens.length === 0) return { weights, metrics: {} };

  const lower = 1 / threshold;
  const share = (hits: number, of: number) => (of === 0 ? 0 : hits / of);
  const rowWeights = rows.map((row) => rowMean(row, raw));
  const ofTokens = moments(tokens.map((token) => raw[token]!));
  const ofRows = moments(rowWeights);
  const logs = exponents.map((exponent) => Math.min(exponent, 20));
  const limited = tokens.map((token) => Math.min(Math.max(raw[token]!, lower), threshold));
  const mean = limited.reduce((sum, weight) => sum + weight, 0) / limited.length;
  const square = limited.reduce((sum, weight) => sum + weight ** 2, 0) / limited.length;
  const log = Math.log(threshold);
  const metrics: Record<string, number> = {
    rollout_is_mean: ofTokens.mean,
    rollout_is_max: Math.exp(largest(logs)),
    rollout_is_min: Math.exp(
      smallest(level === "token" ? logs.map((x) => Math.max(x, -20)) : logs),
    ),
    rollout_is_ratio_fraction_high: share(
      exponents.filter((x) => x > log).length,
      exponents.length,
    ),
    rollout_is_ratio_fraction_low: share(
      exponents.filter((x) => x < -log).length,
      exponents.length,
    ),
    rollout_is_std: Math.sqrt(Math.max(0, square - mean ** 2)),
    rollout_is_eff_sample_size: mean ** 2 / square,
    rollout_is_seq_mean: ofRows.mean,
    rollout_is_seq_std: Math.sqrt(ofRows.variance),
    rollout_is_seq_max: largest(rowWeights),
    rollout_is_seq_min: smallest(rowWeights),
    rollout_is_seq_max_deviation: largest(rowWeights.map((weight) => Math.abs(weight - 1))),
    rollout_is_seq_fraction_high: share(
      rowWeights.filter((w) => w > threshold).length,
      rows.length,
    ),
    rollout_is_seq_fraction_low: share(rowWeights.filter((w) => w < lower).length, rows.length),
  };
  if (!options.normalize) return { weights, metrics };

  const hasTokens = (row: number) => !tokensOf(row)[Symbol.iterator]().next().done;
  const factor =
    level === "token"
      ? tokens.reduce((sum, token) => sum + weights[token]!, 0) / tokens.length
      : moments(rows.filter(hasTokens).map((row) => rowMean(row, weights))).mean;
  const usable = factor > 1e-8 ? factor : 1;
  metrics.rollout_is_batch_norm_factor = usable;
  return { weights: weights.map((weight) => weight / usable), metrics };
}

export function largest(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY);
}

export function smallest(values: readonly number[]): number {
  return values.reduce((least, value) => Math.min(least, value), Number.POSITIVE_INFINITY);
}
