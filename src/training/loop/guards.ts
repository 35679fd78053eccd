/**
 * @file What can go wrong while nobody looks: updates that are not finite, a policy that collapses or
 * runs away, memory that fills. A guard says what and why; some stop the run, with a checkpoint.
 */
import type { RolloutAccount } from "../../rollout/index.ts";
import type { GuardOptions } from "../options.ts";
import { describeSkipped, type UpdateResult } from "../workers/optimize.ts";

/** A reason to end the run before its last iteration. */
export interface Stop {
  readonly reason: string;
  /** The run has failed; otherwise it has reached what was asked of it. */
  readonly failed: boolean;
}

/** Whose updates are counted; "rollout": iterations without an episode to learn from. */
export type Learner = "actor" | "critic";

export interface Guards {
  /** Updates in a row that were skipped, of each; a checkpoint stores it. */
  badUpdates: Readonly<Record<Learner | "rollout", number>>;
  /** Counts what was skipped; gives sentences for the log. */
  alarms(learner: Learner, result: UpdateResult & PolicyMove): string[];
  /** Looks at an iteration's episodes, `usable` of which can be trained on. */
  played(account: RolloutAccount, usable: number): string[];
  /** `successRate`: of this iteration's validation, if there was one. */
  stop(iteration: number, successRate: number | undefined, minutes: number): Stop | undefined;
}

/** What an update of the actor did to the policy; see ActorUpdate. */
export interface PolicyMove {
  readonly moved?: number | undefined;
  readonly entropy?: number | undefined;
}

export function createGuards(options: GuardOptions): Guards {
  const { maxKl, minEntropy, maxBadUpdates, targetSuccess, maxMinutes, maxMemoryGb } = options;
  return {
    badUpdates: { actor: 0, critic: 0, rollout: 0 },
    alarms(learner, { updates, skipped, moved, entropy }) {
      // Loss scaling finds its scale by overflows: they are its way to work, not a bad sign.
      const bad = skipped.filter(({ isOverflow }) => !isOverflow);
      const inARow = updates > 0 ? 0 : this.badUpdates[learner] + bad.length;
      this.badUpdates = { ...this.badUpdates, [learner]: inARow };
      const found = bad.map(
        (one) => `an update of the ${learner} was skipped: ${describeSkipped(one)}`,
      );
      if (moved !== undefined && Math.abs(moved) > maxKl)
        found.push(
          `the policy moved by a KL of ${moved.toPrecision(3)} in one iteration (trainer.max_kl is ` +
            `${maxKl}): lower the actor's learning rate (optim.lr), or make fewer updates per batch`,
        );
      if (entropy !== undefined && entropy < minEntropy)
        found.push(
          `the policy's entropy is ${entropy.toPrecision(3)} (trainer.min_entropy is ` +
            `${minEntropy}): it says almost always the same and has stopped exploring; raise the ` +
            "entropy bonus (entropy_coeff) or lower the learning rate",
        );
      return found;
    },
    played({ episodes, statuses }, usable) {
      const rollout = usable > 0 ? 0 : this.badUpdates.rollout + 1;
      this.badUpdates = { ...this.badUpdates, rollout };
      if (usable > 0) return [];
      const ends = Object.entries(statuses).map(([status, count]) => `${count} × ${status}`);
      return [`none of the ${episodes} episodes can be trained on (${ends.join(", ")})`];
    },
    stop(iteration, successRate, minutes) {
      const { rollout, ...updates } = this.badUpdates;
      // A run whose very first episodes all fail was set up wrongly; later it may be an outage.
      if (rollout >= (iteration === 1 ? 1 : maxBadUpdates))
        return {
          reason:
            "there is nothing to learn from: no episode can be trained on with these settings (see above)",
          failed: true,
        };
      for (const [learner, count] of Object.entries(updates))
        if (count >= maxBadUpdates)
          return {
            reason:
              `${count} updates of the ${learner} in a row were not finite (trainer.max_bad_updates); ` +
              "the weights are those of the last good one",
            failed: true,
          };
      const memory = process.memoryUsage.rss() / 2 ** 30;
      if (maxMemoryGb !== undefined && memory > maxMemoryGb)
        return {
          reason: `the process holds ${memory.toFixed(1)} GB (trainer.max_memory_gb is ${maxMemoryGb})`,
          failed: true,
        };
      if (targetSuccess !== undefined && successRate !== undefined && successRate >= targetSuccess)
        return {
          reason: `validation reached ${(100 * successRate).toFixed(1)} % (trainer.target_success)`,
          failed: false,
        };
      if (maxMinutes !== undefined && minutes >= maxMinutes)
        return {
          reason: `${minutes.toFixed(1)} minutes are over (trainer.max_minutes)`,
          failed: false,
        };
      return undefined;
    },
  };
}
