/**
 * @file What a run does about its alarms: it says them, and where it is asked to, it ends, or goes back to a checkpoint of a
 * better time with a lower learning rate.
 */
import {
  ALARMS,
  type AlarmEvent,
  type AlarmOptions,
  forgetRecent,
} from "../../evaluation/index.ts";
import { checkpointSteps, type RunState } from "../checkpoint/checkpoint.ts";
import type { TrainingOptions } from "../options.ts";
import type { Ranks } from "../ranks/ranks.ts";
import type { Stop } from "./guards.ts";

export function alarmOptions({ guards, alarms, advantages }: TrainingOptions): AlarmOptions {
  return {
    ...{ maxKl: guards.maxKl, minEntropy: guards.minEntropy, ignored: alarms.ignored },
    comparesGroups: advantages.estimator.needs.groups === true,
  };
}

/** What comes of an iteration's serious alarms. */
export type Response =
  | { readonly stop: Stop }
  | {
      /** The state to go on with, from the weights of the checkpoint `to`. */
      readonly rollback: RunState;
      readonly to: number;
      readonly because: AlarmEvent;
    };

/** Undefined: the run goes on as it is. All ranks come to the same. */
export function responseTo(
  serious: readonly AlarmEvent[],
  state: RunState,
  { alarms, run }: Pick<TrainingOptions, "alarms" | "run">,
  ranks: Ranks,
): Response | undefined {
  const { onAlarm } = alarms;
  const [worst] = serious;
  if (!worst || onAlarm === "continue") return undefined;
  const stop = (more = ""): Response => ({
    stop: {
      reason: `alarm ${worst.name}: ${worst.evidence}${more} (trainer.on_alarm is ${onAlarm})`,
      failed: true,
    },
  });
  if (onAlarm === "stop") return stop();
  // The policy has just shown in validation that it is the best so far.
  if (state.best?.step === state.step) return undefined;
  const because = serious.find(({ name }) => ALARMS[name].grade === "ruin");
  if (!because) return stop("; an earlier checkpoint would not mend it");
  const done = state.rollbacks ?? [];
  if (done.length >= alarms.maxRollbacks)
    return stop(`, after going back ${done.length} times (trainer.max_rollbacks)`);
  const to = ranks.broadcast(ranks.isFirst ? betterStep(run.folder, state) : 0);
  return {
    to,
    because,
    rollback: {
      ...state,
      rollbacks: [...done, { at: state.step, to, alarm: because.name }],
      alarms: state.alarms && forgetRecent(state.alarms),
      // What is loaded has shown that it plays.
      health: state.health && { ...state.health, step: state.step, fallen: 0, suspect: false },
    },
  };
}

/** The best by validation; else the last that is known to have played well; else the first that there is. */
function betterStep(folder: string, { best, health, step }: RunState): number {
  const steps = checkpointSteps(folder).filter((saved) => saved < step);
  if (best && steps.includes(best.step)) return best.step;
  const healthy = steps.filter((saved) => saved <= (health?.step ?? 0)).at(-1);
  return healthy ?? steps[0] ?? 0;
}

/** The options with the learning rates that are left after so many times of going back. */
export function withLowerRate(options: TrainingOptions, rollbacks: number): TrainingOptions {
  if (rollbacks === 0) return options;
  const factor = options.alarms.rollbackLrFactor ** rollbacks;
  const lowered = <Part extends TrainingOptions["actor"] | TrainingOptions["critic"]>(
    part: Part,
  ) => ({
    ...part,
    optimizer: { ...part.optimizer, lr: part.optimizer.lr * factor },
  });
  return { ...options, actor: lowered(options.actor), critic: lowered(options.critic) };
}
