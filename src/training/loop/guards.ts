/**
 * @file What ends a run before its last iteration, with a checkpoint: updates that are not finite, nothing to learn from,
 * memory that fills, a goal that is reached. What is worth saying meanwhile are alarms (src/evaluation/alarms).
 */
import type { AlarmName } from "../../evaluation/index.ts";
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
  /** What alarms of this iteration can say besides their numbers. */
  readonly details: AlarmDetails;
  /** Updates of this iteration that were not finite. */
  readonly badNow: number;
  /** Counts what was skipped. */
  updated(learner: Learner, result: UpdateResult): void;
  /** Looks at an iteration's episodes, `usable` of which can be trained on; an iteration begins with it. */
  played(account: RolloutAccount, usable: number): void;
  /** `successRate`: of this iteration's validation, if there was one. */
  stop(iteration: number, successRate: number | undefined, minutes: number): Stop | undefined;
}

export type AlarmDetails = Readonly<Partial<Record<AlarmName, string>>>;

export function createGuards(options: GuardOptions): Guards {
  const { maxBadUpdates, targetSuccess, maxMinutes, maxMemoryGb } = options;
  let details: Partial<Record<AlarmName, string>> = {};
  let badNow = 0;
  return {
    badUpdates: { actor: 0, critic: 0, rollout: 0 },
    get details() {
      return details;
    },
    get badNow() {
      return badNow;
    },
    updated(learner, { updates, skipped }) {
      // Loss scaling finds its scale by overflows: they are its way to work, not a bad sign.
      const bad = skipped.filter(({ isOverflow }) => !isOverflow);
      const inARow = updates > 0 ? 0 : this.badUpdates[learner] + bad.length;
      this.badUpdates = { ...this.badUpdates, [learner]: inARow };
      badNow += bad.length;
      if (bad.length === 0) return;
      const said = bad.map((one) => `an update of the ${learner}: ${describeSkipped(one)}`);
      details.update_skipped = [details.update_skipped, ...said].filter(Boolean).join("; ");
    },
    played({ episodes, statuses }, usable) {
      const rollout = usable > 0 ? 0 : this.badUpdates.rollout + 1;
      this.badUpdates = { ...this.badUpdates, rollout };
      details = {};
      badNow = 0;
      if (usable > 0) return;
      const ends = Object.entries(statuses).map(([status, count]) => `${count} × ${status}`);
      details.nothing_played = `none of the ${episodes} episodes can be trained on (${ends.join(", ")})`;
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
