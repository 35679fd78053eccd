/**
 * @file What a step of a run measured: numbers by name. Names are those of verl and verl-agent
 * (actor/pg_loss, critic/rewards/mean, episode/success_rate, timing_s/gen, …; see docs/monitoring.md),
 * so that existing dashboards and scripts find what they look for.
 */

export type Metrics = Readonly<Record<string, number>>;

/** The metrics of one step of a run. */
export interface StepMetrics {
  readonly step: number;
  readonly metrics: Metrics;
}

/** Metrics of a part of the whole: a micro-batch, a rank, a validation set. */
export interface MetricsPart {
  readonly metrics: Metrics;
  /** How many things (rows, tokens, episodes) its means are over. Default 1. */
  readonly count?: number;
}

/**
 * The parts' metrics as metrics of the whole: a name with "max" in it takes the largest, one with
 * "min" the smallest, others the mean, weighted by the parts' counts. A part that counted nothing
 * says nothing; a name that some parts lack is merged over those that have it. With equal counts
 * this is the algorithms' `reduceMetrics`, which is not called here only because their door loads
 * libtorch: reading a run's metrics must not need it. (A test holds the two together.)
 */
export function mergeMetrics(parts: Iterable<MetricsPart>): Metrics {
  const totals = new Map<string, Total>();
  for (const { metrics, count = 1 } of parts) {
    if (!(count >= 0 && Number.isFinite(count)))
      throw new Error(`merging metrics: a part's count is ${count}; expected a number from 0 up`);
    if (count === 0) continue;
    for (const [name, value] of Object.entries(metrics)) {
      const total = totals.get(name) ?? { sum: 0, count: 0, most: value, least: value };
      totals.set(name, {
        sum: total.sum + value * count,
        count: total.count + count,
        most: Math.max(total.most, value),
        least: Math.min(total.least, value),
      });
    }
  }
  return Object.fromEntries([...totals].map(([name, total]) => [name, ofTotal(name, total)]));
}

type Total = Readonly<Record<"sum" | "count" | "most" | "least", number>>;

function ofTotal(name: string, { sum, count, most, least }: Total): number {
  if (name.includes("max")) return most;
  return name.includes("min") ? least : sum / count;
}

/** Where values of the clock and of the machine stand, and nowhere else. */
const TIMINGS = ["timing_s/", "timing_per_token_ms/", "perf/"] as const;

/** Whether a metric may differ between two runs that are otherwise bitwise the same. */
export function isTiming(name: string): boolean {
  return TIMINGS.some((prefix) => name.startsWith(prefix));
}

/** What a run that was resumed must have in common with one that was never disturbed. */
export function withoutTimings(metrics: Metrics): Metrics {
  return Object.fromEntries(Object.entries(metrics).filter(([name]) => !isTiming(name)));
}

/** The first of these names that was measured. */
export function firstOf(metrics: Metrics, names: readonly string[]): number | undefined {
  for (const name of names) if (metrics[name] !== undefined) return metrics[name];
  return undefined;
}
