/**
 * @file Means, deviations and whitening over the trained tokens.
 *
 *   mean μ = Σ mask·v / n        variance = Σ mask·(v−μ)² / (n−1)
 *   whiten(v) = (v−μ) / √(variance + 1e-8)
 *
 * As in verl's masked_mean, masked_var and masked_whiten, except that verl adds 1e-8 to n and refuses
 * fewer than two tokens. Here one token whitens to 0, because it is its own mean, and none to nothing.
 * The mean is taken around the first value: equal values then have exactly their value as mean and
 * exactly 0 as deviation, whatever their number.
 */
import { checkTokens, type Numbers, type Rows } from "./rows.ts";

export interface Moments {
  /** How many values. */
  count: number;
  /** 0 when there are none. */
  mean: number;
  /** Unbiased (divided by count − 1); 0 for fewer than two values. */
  variance: number;
}

/** Moments of the first `length` values, or all: of those where `mask` is 1, or each. */
export function moments(
  values: ArrayLike<number>,
  mask?: Uint8Array,
  length = values.length,
): Moments {
  let first = 0;
  let count = 0;
  let sum = 0;
  for (let i = 0; i < length; i++) {
    if (mask !== undefined && mask[i] !== 1) continue;
    if (count++ === 0) first = values[i]!;
    sum += values[i]! - first;
  }
  if (count === 0) return { count, mean: 0, variance: 0 };
  const mean = first + sum / count;
  if (count === 1) return { count, mean, variance: 0 };
  let squares = 0;
  for (let i = 0; i < length; i++)
    if (mask === undefined || mask[i] === 1) squares += (values[i]! - mean) ** 2;
  return { count, mean, variance: squares / (count - 1) };
}

export interface WhitenOptions {
  /** Move the mean to 0 (default), or leave it where it was and only scale. */
  shiftMean?: boolean | undefined;
}

/** [tokens] The values with variance 1 and, unless told otherwise, mean 0; 0 where the mask is 0. */
export function whiten(
  values: Numbers,
  mask: Uint8Array,
  options: WhitenOptions = {},
): Float64Array {
  const { mean, variance } = moments(values, mask);
  const scale = 1 / Math.sqrt(variance + 1e-8);
  const base = (options.shiftMean ?? true) ? 0 : mean;
  const result = new Float64Array(values.length);
  for (let i = 0; i < values.length; i++)
    if (mask[i] === 1) result[i] = (values[i]! - mean) * scale + base;
  return result;
}

/**
 * Rewards whitened over the batch before advantages are computed. The mean stays by default, as in
 * TRL: moving it would reward or punish every token for existing.
 */
export function whitenRewards(
  rows: Rows,
  rewards: Numbers,
  options: WhitenOptions = {},
): Float64Array {
  checkTokens("whitenRewards", "the reward", rewards, rows);
  return whiten(rewards, rows.mask, { shiftMean: options.shiftMean ?? false });
}
