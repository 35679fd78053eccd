/**
 * @file What can go wrong while nobody looks: updates that are not finite, a policy that collapses or
 * runs away, memory that fills. A guard says what and why; some stop the run, with a checkpoint.
 */
import type { Metrics } from "../algorithms/index.ts";
import type { Config } from "../config/index.ts";
import { describeSkipped, type SkippedUpdate } from "./optimize.ts";

/** A reason to end the run before its last iteration. */
export interface Stop {
  readonly reason: string;
  /** The run has failed; otherwise it has reached what was asked of it. */
  readonly failed: boolean;
}

export interface Guards {
  /** Updates in a row that were skipped; a checkpoint stores it. */
  badUpdates: number;
  /** Sentences for the log. */
  alarms(metrics: Metrics, skipped: readonly SkippedUpdate[]): string[];
  stop(metrics: Metrics, minutes: number): Stop | undefined;
}

export function createGuards({ trainer }: Config): Guards {
  return {
    badUpdates: 0,
    alarms(metrics, skipped) {
      const made = metrics["actor/updates"] ?? 0;
      this.badUpdates = made > 0 ? 0 : this.badUpdates + skipped.length;
      const found = skipped.map((one) => `an update was skipped: ${describeSkipped(one)}`);
      const kl = metrics["actor/ppo_kl"];
      if (kl !== undefined && Math.abs(kl) > trainer.max_kl)
        found.push(
          `the policy moved by a KL of ${kl.toPrecision(3)} in one iteration (trainer.max_kl is ` +
            `${trainer.max_kl}): lower actor_rollout_ref.actor.optim.lr, or make fewer updates per batch`,
        );
      const entropy = metrics["actor/entropy"];
      if (entropy !== undefined && entropy < trainer.min_entropy)
        found.push(
          `the policy's entropy is ${entropy.toPrecision(3)} (trainer.min_entropy is ` +
            `${trainer.min_entropy}): it says almost always the same and has stopped exploring; raise ` +
            "actor_rollout_ref.actor.entropy_coeff or lower the learning rate",
        );
      return found;
    },
    stop(metrics, minutes) {
      if (this.badUpdates >= trainer.max_bad_updates)
        return {
          reason: `${this.badUpdates} updates in a row were not finite; the weights are those of the last good one`,
          failed: true,
        };
      const memory = process.memoryUsage.rss() / 2 ** 30;
      if (trainer.max_memory_gb !== null && memory > trainer.max_memory_gb)
        return {
          reason: `the process holds ${memory.toFixed(1)} GB (trainer.max_memory_gb is ${trainer.max_memory_gb})`,
          failed: true,
        };
      const success = metrics["val/success_rate"];
      if (
        trainer.target_success !== null &&
        success !== undefined &&
        success >= trainer.target_success
      )
        return {
          reason: `validation reached ${(100 * success).toFixed(1)} % (trainer.target_success)`,
          failed: false,
        };
      if (trainer.max_minutes !== null && minutes >= trainer.max_minutes)
        return {
          reason: `${minutes.toFixed(1)} minutes are over (trainer.max_minutes)`,
          failed: false,
        };
      return undefined;
    },
  };
}
