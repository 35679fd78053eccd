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
  /** The means that were compared, also those of the first quarter. */
  readonly lives: readonly number[];
}

/** Student's t at 97.5 %, for 1, 2, … degrees of freedom. */
const QUANTILES = [
  ...[12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228],
  ...[2.201, 2.179, 2.16, 2.145, 2.131, 2.12, 2.11, 2.101, 2.093, 2.086],
];
/** Share of the level per hour that nobody would notice in a day. */
const TOLERANCE = 0.02;

/**
 * `hours` and `values` of equal length, a sample per round. What a process holds depends on how far its runs have got, so
 * lives of `rounds` rounds are compared, each by its mean. Flat: the interval has 0 in it, or nothing in it is worth a word.
 */
export function trendOf(
  hours: readonly number[],
  values: readonly number[],
  rounds: number,
): Trend {
  const [allX, allY] = [lives(hours, rounds), lives(values, rounds)];
  const from = Math.ceil(allX.length / 4);
  const [x, y] = [allX.slice(from), allY.slice(from)];
  const [centreX, level] = [mean(x), mean(y)];
  const spread = x.reduce((sum, value) => sum + (value - centreX) ** 2, 0);
  const slope = x.reduce((sum, value, i) => sum + (value - centreX) * (y[i]! - level), 0) / spread;
  const residual = y.reduce(
    (sum, value, i) => sum + (value - level - slope * (x[i]! - centreX)) ** 2,
    0,
  );
  const freedom = x.length - 2;
  // Nothing is known of how much lives differ.
  if (freedom < 1)
    return { level, slope, margin: Number.POSITIVE_INFINITY, isFlat: false, lives: allY };
  const quantile = QUANTILES[Math.min(freedom, QUANTILES.length) - 1]!;
  const margin = quantile * Math.sqrt(residual / freedom / spread);
  const isFlat = slope - margin <= TOLERANCE * Math.abs(level);
  return { level, slope, margin, isFlat, lives: allY };
}

/** Means of whole lives. */
function lives(values: readonly number[], rounds: number): number[] {
  const count = Math.floor(values.length / rounds);
  return Array.from({ length: count }, (_, i) => mean(values.slice(i * rounds, (i + 1) * rounds)));
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
