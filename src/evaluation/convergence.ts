/**
 * @file How fast a run learned: the first iteration, and the episodes and minutes until then, at which
 * validation reached a success rate, from the run's metrics.
 */
import type { StepMetrics } from "../monitoring/index.ts";

export interface Convergence {
  readonly successRate: number;
  /** Undefined: it was not reached. */
  readonly step?: number;
  readonly episodes?: number;
  readonly minutes?: number;
}

export function convergence(
  metrics: readonly StepMetrics[],
  rates: readonly number[],
): Convergence[] {
  return rates.map((successRate) => {
    const found = metrics.findIndex(
      ({ metrics: one }) => (one["val/success_rate"] ?? -1) >= successRate,
    );
    if (found < 0) return { successRate };
    const { step, metrics: one } = metrics[found]!;
    const seconds = metrics
      .slice(0, found + 1)
      .reduce((sum, { metrics: each }) => sum + (each["timing_s/step"] ?? 0), 0);
    return { successRate, step, episodes: one["training/episodes"] ?? 0, minutes: seconds / 60 };
  });
}
