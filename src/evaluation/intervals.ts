/**
 * @file How sure one can be of a rate.
 */

export interface Interval {
  readonly low: number;
  readonly high: number;
}

/** The normal distribution's quantile for 95 %, both sides. */
const Z_95 = 1.959963984540054;

/**
 * Wilson's interval for a rate: right also for few episodes and for rates near 0 and 1, where the usual
 * ± 1.96 √(p (1 − p) / n) is an interval of length 0. Without any episode: 0 to 1.
 */
export function wilson(successes: number, n: number, z = Z_95): Interval {
  if (!(Number.isInteger(successes) && Number.isInteger(n) && successes >= 0 && successes <= n))
    throw new RangeError(
      `wilson: expected whole numbers 0 ≤ successes ≤ n, got ${successes} of ${n}`,
    );
  if (n === 0) return { low: 0, high: 1 };
  const rate = successes / n;
  const scale = 1 + z ** 2 / n;
  const center = (rate + z ** 2 / (2 * n)) / scale;
  const half = (z / scale) * Math.sqrt((rate * (1 - rate)) / n + z ** 2 / (4 * n ** 2));
  // At the ends the exact bound is 0 or 1; rounding must not leave it.
  return {
    low: successes === 0 ? 0 : Math.max(0, center - half),
    high: successes === n ? 1 : Math.min(1, center + half),
  };
}
