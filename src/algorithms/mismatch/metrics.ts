/**
 * @file How far apart rollout and training are. d = logπ_train − logπ_rollout; means over tokens unless
 * it says "row": then the mean over rows of the value of the row.
 *
 *   kl  −mean d       k3_kl  mean(e^d − d − 1)       chi2_token  mean e^{2d} − 1
 *   chi2_seq  row: e^{2·Σd} − 1                      *_ppl  row: e^{−mean logπ}, *_log_ppl without e
 *   log_ppl_diff  row: −mean d                       ppl_ratio  row: e^{−mean d}
 *
 * d and Σd are limited to ±20 in the exponentials. And, of probabilities instead of their logarithms,
 * the difference |π_train − π_rollout| and the correlation of both.
 *
 * Source: verl rollout_corr_helper.compute_offpolicy_metrics (put "rollout_corr/" before those),
 * utils/debug/metrics.py (training/*).
 */
import { moments } from "../statistics.ts";
import { type MismatchInput, type MismatchOptions, readMismatch } from "./input.ts";
import { largest, smallest } from "./weights.ts";

const limit = (exponent: number) => Math.min(Math.max(exponent, -20), 20);

/** Nothing when there is no trained token. */
export function offPolicyMetrics(
  input: MismatchInput,
  options: MismatchOptions = {},
): Record<string, number> {
  const { rows, differences, tokensOf, rowSum, rowMean } = readMismatch(
    "offPolicyMetrics",
    input,
    options,
  );
  const d = rows.flatMap((row) => Array.from(tokensOf(row), (token) => differences[token]!));
  if (d.length === 0) return {};
  const mean = (values: readonly number[]) => moments(values).mean;
  const train = rows.map((row) => -rowMean(row, input.trainLogprobs));
  const rollout = rows.map((row) => -rowMean(row, input.rolloutLogprobs));
  const logDifferences = rows.map((row) => -rowMean(row, differences));
  return {
    training_ppl: mean(train.map(Math.exp)),
    training_log_ppl: mean(train),
    kl: -mean(d),
    k3_kl: mean(d.map((one) => Math.expm1(limit(one)) - limit(one))),
    rollout_ppl: mean(rollout.map(Math.exp)),
    rollout_log_ppl: mean(rollout),
    log_ppl_diff: mean(logDifferences),
    log_ppl_abs_diff: mean(logDifferences.map(Math.abs)),
    log_ppl_diff_max: largest(logDifferences),
    log_ppl_diff_min: smallest(logDifferences),
    ppl_ratio: mean(logDifferences.map((one) => Math.exp(limit(one)))),
    chi2_token: mean(d.map((one) => Math.exp(2 * limit(one)))) - 1,
    chi2_seq: mean(rows.map((row) => Math.exp(2 * limit(rowSum(row, differences))))) - 1,
  };
}

/** training/rollout_probs_diff_*; `_valid` 0 and nothing else when there is no trained token. */
export function probabilityDifferences(input: MismatchInput): Record<string, number> {
  const { rows, tokensOf } = readMismatch("probabilityDifferences", input, {});
  const tokens = rows.flatMap((row) => [...tokensOf(row)]);
  if (tokens.length === 0) return { "training/rollout_probs_diff_valid": 0 };
  const train = tokens.map((token) => Math.exp(input.trainLogprobs[token]!));
  const rollout = tokens.map((token) => Math.exp(input.rolloutLogprobs[token]!));
  const differences = train.map((probability, i) => Math.abs(probability - rollout[i]!));
  const { mean, variance } = moments(differences);
  const a = moments(train);
  const b = moments(rollout);
  const products = train.map((value, i) => (value - a.mean) * (rollout[i]! - b.mean));
  const covariance = products.reduce((sum, product) => sum + product, 0) / (tokens.length - 1);
  const spread = Math.sqrt(a.variance * b.variance);
  return {
    "training/rollout_probs_diff_valid": 1,
    "training/rollout_probs_diff_max": largest(differences),
    "training/rollout_probs_diff_mean": mean,
    "training/rollout_probs_diff_std": Math.sqrt(variance),
    // Not defined where either never changes.
    ...(spread > 0 ? { "training/rollout_actor_probs_pearson_corr": covariance / spread } : {}),
  };
}
