/**
 * @file From what a server says to what our interface says: observations, rewards, and who has won.
 */
import type { Observation, StepResult } from "../environment.ts";
import { fits } from "./blanks.ts";
import type { Beginning, Kind, Outcome } from "./kind.ts";

/** How a server's answers are to be understood. */
export interface Rules {
  readonly kind: Kind;
  /** The reward of solving a task, where the user says so. */
  readonly winReward: number | undefined;
}

/** What was said in an episode so far. */
export interface Said {
  readonly beginning: Beginning;
  readonly outcomes: readonly Outcome[];
}

export function observationOf(
  { instruction }: Kind,
  beginning: Beginning,
  { text, admissible, info }: Beginning | Outcome,
): Observation {
  return {
    ...{ text, anchor: text, info: { ...beginning.info, ...info } },
    ...(instruction !== undefined && { instruction }),
    ...(admissible && { admissible }),
  };
}

/** `said` is what came before this outcome. */
export function resultOf(
  { kind, winReward = kind.reward.winReward }: Rules,
  { beginning, outcomes }: Said,
  action: string,
  outcome: Outcome,
): StepResult {
  const { value, done } = outcome;
  const won = done && kind.reward.won(value);
  const before = kind.reward.counts === "total" ? (outcomes.at(-1)?.value ?? 0) : 0;
  const listed = kind.listsAllActions && (outcomes.at(-1) ?? beginning).admissible;
  return {
    observation: observationOf(kind, beginning, outcome),
    reward: winReward === undefined ? value - before : won ? winReward : 0,
    done,
    won,
    ...(done && !won && { lost: true }),
    ...(listed && { admissible: listed.some((entry) => fits(entry, action)) }),
    score: Math.min(1, Math.max(0, value / kind.reward.best)),
  };
}
