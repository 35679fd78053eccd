/**
 * @file Several runs of the same thing as one curve: their mean, least and most at every x.
 */

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface BandPoint {
  readonly x: number;
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

/**
 * At every x that a run has, over the runs that reach it (between its points a run goes straight).
 * Points that are not finite are left out.
 */
export function bandOf(runs: readonly (readonly Point[])[]): BandPoint[] {
  const clean = runs.map((run) =>
    run
      .filter(({ x, y }) => Number.isFinite(x) && Number.isFinite(y))
      .sort((one, other) => one.x - other.x),
  );
  const places = [...new Set(clean.flatMap((run) => run.map(({ x }) => x)))].sort((a, b) => a - b);
  const next = clean.map(() => 0);
  return places.map((x) => {
    const values = clean.flatMap((run, i) => {
      // Places only go up, and so does where each run stands.
      while (next[i]! < run.length && run[next[i]!]!.x < x) next[i]!++;
      return valueAt(run, next[i]!, x);
    });
    return {
      x,
      mean: values.reduce((sum, value) => sum + value, 0) / values.length,
      low: Math.min(...values),
      high: Math.max(...values),
    };
  });
}

/** `after` is the place of the run's first point that is not before x. */
function valueAt(run: readonly Point[], after: number, x: number): number[] {
  const end = run[after];
  if (!end) return [];
  if (end.x === x) return [end.y];
  const start = run[after - 1];
  if (!start) return [];
  return [start.y + ((end.y - start.y) * (x - start.x)) / (end.x - start.x)];
}
