/**
 * @file Where a run's time went: the phases of its iterations, from the run's metrics.
 */
import type { StepMetrics } from "../monitoring/index.ts";

export interface PhaseTime {
  /** As in timing_s/NAME: gen, update_actor, … */
  readonly name: string;
  /** Mean of the iterations. */
  readonly seconds: number;
  /** Of the whole iteration. */
  readonly share: number;
}

/** The longest first; what no phase accounts for is "other". Empty where nothing was measured. */
export function phaseTimes(metrics: readonly StepMetrics[]): PhaseTime[] {
  const iterations = metrics
    .map(({ metrics: one }) => one)
    .filter((one) => one["timing_s/step"] !== undefined && one["timing_s/gen"] !== undefined);
  const sums = new Map<string, number>();
  for (const one of iterations)
    for (const [key, seconds] of Object.entries(one)) {
      const name = /^timing_s\/(\w+)$/.exec(key)?.[1];
      // Checkpoints are saved after the iteration.
      if (name === undefined || name === "save_checkpoint") continue;
      sums.set(name, (sums.get(name) ?? 0) + seconds);
    }
  const whole = sums.get("step") ?? 0;
  if (!(whole > 0)) return [];
  sums.delete("step");
  const known = [...sums.values()].reduce((sum, seconds) => sum + seconds, 0);
  sums.set("other", Math.max(0, whole - known));
  return [...sums]
    .map(([name, seconds]) => ({
      name,
      seconds: seconds / iterations.length,
      share: seconds / whole,
    }))
    .sort((a, b) => b.seconds - a.seconds);
}
