/**
 * @file Learning-rate schedules: the factor on the base rate, as a function of the step.
 *
 * Pure functions of the step number: nothing to save, and a resumed run is where it was.
 */

const KINDS = ["constant", "linear", "cosine"] as const;

export interface ScheduleSettings {
  kind: (typeof KINDS)[number];
  /** Steps over which the factor rises from 0 to 1. */
  warmupSteps?: number;
  /** The step at which the end factor is reached; needed for linear and cosine. */
  totalSteps?: number;
  /** The factor at the end, and from then on. */
  endFactor?: number;
}

/** The factor for a step, counted from 0. */
export type Schedule = (step: number) => number;

export function schedule(settings: ScheduleSettings): Schedule {
  const { kind, warmupSteps = 0, totalSteps, endFactor = 0 } = settings;
  if (!KINDS.includes(kind))
    throw new RangeError(`schedule: expected a kind of ${KINDS.join(", ")}, got ${kind}`);
  if (!(warmupSteps >= 0) || !Number.isFinite(warmupSteps))
    throw new RangeError(`schedule: warmupSteps must be 0 or more, got ${warmupSteps}`);
  if (kind !== "constant" && !(totalSteps !== undefined && totalSteps > warmupSteps))
    throw new RangeError(
      `schedule: a ${kind} schedule needs totalSteps above warmupSteps (${warmupSteps}), got ${totalSteps}`,
    );
  return (step) => {
    if (step < warmupSteps) return step / warmupSteps;
    if (kind === "constant" || totalSteps === undefined) return 1;
    const progress = Math.min(1, (step - warmupSteps) / (totalSteps - warmupSteps));
    const fall = kind === "linear" ? 1 - progress : 0.5 * (1 + Math.cos(Math.PI * progress));
    return endFactor + (1 - endFactor) * fall;
  };
}
