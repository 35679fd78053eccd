/**
 * @file Step returns: what a step earned from there on, discounted per step.
 *
 *   R_t = r_t + γ·R_{t+1} inside a trajectory, in the order of time
 *
 * Source: GiGPO Eq. 5, arXiv:2505.10978; verl-agent compute_step_discounted_returns.
 */
import { checkLength, checkPerRow, type Id, type Ids, type Numbers } from "../rows.ts";

export interface StepReturnsInput {
  /** [steps] */
  rewards: Numbers;
  /** [steps] Which episode. */
  trajectories: Ids;
  /** [steps] The place in time inside the trajectory; without it, the given order. */
  order?: ArrayLike<number> | undefined;
}

/** [steps] */
export function stepReturns(
  { rewards, trajectories, order }: StepReturnsInput,
  gamma = 0.95,
): Float64Array {
  checkPerRow("stepReturns", "the step reward", rewards, trajectories.length);
  const returns = new Float64Array(rewards.length);
  for (const steps of stepsInTime("stepReturns", trajectories, order).values()) {
    let next = 0;
    for (const step of steps.reverse()) {
      next = rewards[step]! + gamma * next;
      returns[step] = next;
    }
  }
  return returns;
}

/** Each trajectory's steps in the order of time. */
export function stepsInTime(
  who: string,
  trajectories: Ids,
  order?: ArrayLike<number>,
): Map<Id, number[]> {
  const byTrajectory = new Map<Id, number[]>();
  for (let step = 0; step < trajectories.length; step++) {
    const steps = byTrajectory.get(trajectories[step]!);
    if (steps) steps.push(step);
    else byTrajectory.set(trajectories[step]!, [step]);
  }
  if (order === undefined) return byTrajectory;
  checkLength(who, "the steps' order", order.length, trajectories.length);
  for (const [id, steps] of byTrajectory) {
    steps.sort((a, b) => order[a]! - order[b]!);
    for (let i = 1; i < steps.length; i++)
      if (order[steps[i]!] === order[steps[i - 1]!])
        throw new RangeError(
          `${who}: trajectory ${id} has two steps at place ${order[steps[i]!]} in time ` +
            `(steps ${steps[i - 1]} and ${steps[i]}); expected one`,
        );
  }
  return byTrajectory;
}
