/**
 * @file Refuses a configuration that lacks what its advantage estimator needs, before anything runs.
 */
import { advantageEstimator } from "./registry.ts";

/** What a run will have. */
export interface Available {
  /** Whether there is a critic. */
  critic: boolean;
  /** Episodes per task (rollout.n). */
  groupSize: number;
  /** Whether the environment's observations have anchors. */
  anchors: boolean;
  /** Whether a greedy episode is run for each task. */
  greedyBaseline: boolean;
  /** Whether the policy computes Σ π² (actor.calculate_sum_pi_squared). */
  squaredProbabilities: boolean;
}

/** What is missing, one sentence each; empty when all is there. */
export function missingRequirements(name: string, available: Available): string[] {
  const { needs } = advantageEstimator(name);
  const missing: string[] = [];
  if (needs.critic && !available.critic)
    missing.push(`${name} needs the values of a critic, and there is none: configure one.`);
  if (needs.groups && !(available.groupSize >= 2))
    missing.push(
      `${name} compares the episodes of one task with each other, and there is ` +
        `${available.groupSize} per task: set rollout.n to 2 or more (8 is usual).`,
    );
  if (needs.anchors && !available.anchors)
    missing.push(
      `${name} compares steps that were taken in the same state, and this environment does not ` +
        "say which those are: choose an environment with anchors, or grpo.",
    );
  if (needs.greedyBaseline && !available.greedyBaseline)
    missing.push(`${name} needs a greedy episode of each task as baseline: turn it on.`);
  if (needs.squaredProbabilities && !available.squaredProbabilities)
    missing.push(
      `${name} needs Σ π² of the policy at each token: set actor.calculate_sum_pi_squared.`,
    );
  return missing;
}

/** Throws an error with all that is missing. */
export function checkRequirements(name: string, available: Available): void {
  const missing = missingRequirements(name, available);
  if (missing.length > 0) throw new Error(missing.join("\n"));
}
