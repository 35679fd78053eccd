/**
 * @file REINFORCE++: discounted returns per token, whitened over the whole batch.
 *
 *   G_t = r_t + γ·G_{t+1} over the trained tokens of a row      advantages = whiten(G)
 *
 * Observation tokens pass the return on to the turn before them. verl b178a3cd5 set it to 0 there, so
 * that only the last turn was credited (verl#7278, fixed by PR#7300); this is the corrected one.
 *
 * Source: Hu 2025, arXiv:2501.03262; verl compute_reinforce_plus_plus_outcome_advantage.
 */
import { type Advantages, checkRows, checkTokens, type Numbers, type Rows } from "../rows.ts";
import { whiten } from "../statistics.ts";

export interface ReinforceInput {
  rows: Rows;
  /** [tokens] */
  rewards: Numbers;
}

export interface ReinforceOptions {
  /** Discount per trained token. Default 1. */
  gamma?: number | undefined;
}

export function reinforcePlusPlus(
  { rows, rewards }: ReinforceInput,
  options: ReinforceOptions = {},
): Advantages {
  checkRows("reinforce_plus_plus", rows);
  checkTokens("reinforce_plus_plus", "the reward", rewards, rows);
  const returns = rewardToGo(rows, rewards, options.gamma ?? 1);
  return { advantages: whiten(returns, rows.mask), returns };
}

/** [tokens] G_t = r_t + γ·G_{t+1} over the trained tokens of each row; 0 where the mask is 0. */
export function rewardToGo({ offsets, mask }: Rows, rewards: Numbers, gamma: number): Float64Array {
  const returns = new Float64Array(mask.length);
  for (let row = 0; row + 1 < offsets.length; row++) {
    let next = 0;
    for (let token = offsets[row + 1]! - 1; token >= offsets[row]!; token--) {
      if (mask[token] !== 1) continue;
      next = rewards[token]! + gamma * next;
      returns[token] = next;
    }
  }
  return returns;
}
