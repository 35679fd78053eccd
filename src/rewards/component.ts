/**
 * @file What a part of the reward is: a function of an episode, with a name and a weight.
 */
import type { Trajectory } from "../rollout/index.ts";

/** What a component can look at. */
export interface RewardInput {
  readonly trajectory: Trajectory;
  /** All usable episodes of the same task in the same iteration, this one among them. */
  readonly group: readonly Trajectory[];
  /** Turns that an episode could have had. */
  readonly maximumTurns: number;
  /** Sum over the sampled tokens of log p − log p_reference, where somebody computed it. */
  readonly kl?: number | undefined;
  /** Aborted when the value is no longer waited for, because it is there or too late: whatever is still asked is to stop. */
  readonly signal?: AbortSignal | undefined;
}

/** One number for the episode, or one for each turn, or both. */
export type RewardValue =
  | number
  | readonly number[]
  | { readonly episode: number; readonly turns: readonly number[] };

export interface RewardComponent {
  /** In breakdowns and metrics: rewards/NAME. */
  readonly name: string;
  /** What it counts in the sum. Penalties give numbers up to 0 and have positive weights. */
  readonly weight: number;
  /** It reads `RewardInput.kl`: the trainer then computes the reference's log-probabilities first. */
  readonly needsKl?: boolean;
  compute(input: RewardInput): RewardValue | Promise<RewardValue>;
}

/** A component of one's own; async ones may ask a server. */
export function rewardFunction(
  name: string,
  weight: number,
  compute: RewardComponent["compute"],
): RewardComponent {
  return { name, weight, compute };
}
