/**
 * @file Where a run's time went: the phases of its iterations, from the run's metrics.
 */
import { phasesOf, type StepMetrics } from "../monitoring/index.ts";

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
  // Checkpoints are saved after the iteration.
  for (const { "timing_s/save_checkpoint": _, ...one } of iterations)
    for (const { name, seconds } of phasesOf(one)) sums.set(name, (sums.get(name) ?? 0) + seconds);
  const whole = iterations.reduce((sum, one) => sum + one["timing_s/step"]!, 0);
  if (!(whole > 0)) return [];
  return [...sums]
    .map(([name, seconds]) => ({
      name,
      seconds: seconds / iterations.length,
      share: seconds / whole,
    }))
    .sort((a, b) => b.seconds - a.seconds);
}
