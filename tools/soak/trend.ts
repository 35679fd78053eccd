/**
 * @file Whether a measure stays where it is: its slope, with an interval.
 */

export interface Trend {
  /** Of the samples that count: the first quarter is for warming up. */
  readonly level: number;
  /** Per hour, and 95 % on both sides of it. */
  readonly slope: number;
  readonly margin: number;
  readonly isFlat: boolean;
}

/** Neighbouring samples are alike: this many means of stretches are taken for independent ones. */
const STRETCHES = 12;
/** Student's t at 97.5 % for STRETCHES − 2 degrees of freedom. */
const QUANTILE = 2.228;
/** Share of the level per hour that nobody would notice in a day. */
const TOLERANCE = 0.02;

/** `hours` and `values` of equal length. Flat: the interval has 0 in it, or nothing in it is worth a word. */
export function trendOf(hours: readonly number[], values: readonly number[]): Trend {
  const from = Math.floor(hours.length / 4);
  const level = mean(values.slice(from));
  const x = stretches(hours.slice(from));
  const y = stretches(values.slice(from));
  const [centreX, centreY] = [mean(x), mean(y)];
  const spread = x.reduce((sum, value) => sum + (value - centreX) ** 2, 0);
  const slope =
    x.reduce((sum, value, i) => sum + (value - centreX) * (y[i]! - centreY), 0) / spread;
  const residual = y.reduce(
    (sum, value, i) => sum + (value - centreY - slope * (x[i]! - centreX)) ** 2,
    0,
  );
  const margin = QUANTILE * Math.sqrt(residual / Math.max(1, x.length - 2) / spread);
  const isFlat = slope - margin <= TOLERANCE * Math.abs(level);
  return { level, slope, margin, isFlat };
}

function stretches(values: readonly number[]): number[] {
  const count = Math.min(STRETCHES, values.length);
  return Array.from({ length: count }, (_, i) =>
    mean(
      values.slice(
        Math.floor((i * values.length) / count),
        Math.floor(((i + 1) * values.length) / count),
      ),
    ),
  );
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
