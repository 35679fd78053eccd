/**
 * @file ReMax: returns against the score of a greedy answer to the same task.
 *
 *   G_t = r_t + G_{t+1} over the trained tokens      A_t = G_t − b,  b = score of the greedy episode
 *
 * verl subtracts the baseline only under the mask and leaves the bare return on observation tokens;
 * both are 0 here, since nothing is trained there.
 *
 * Source: Li et al. 2023, arXiv:2310.10505; verl compute_remax_outcome_advantage.
 */
import {
  type Advantages,
  checkPerRow,
  checkRows,
  checkTokens,
  type Numbers,
  type Rows,
  rowCount,
} from "../rows.ts";
import { rewardToGo } from "./reinforce-plus-plus.ts";

export interface RemaxInput {
  rows: Rows;
  /** [tokens] */
  rewards: Numbers;
  /** [rows] The score of the greedy episode of the row's task. */
  baselines: Numbers;
}

export function remax({ rows, rewards, baselines }: RemaxInput): Advantages {
  checkRows("remax", rows);
  checkTokens("remax", "the reward", rewards, rows);
  checkPerRow("remax", "the greedy baseline", baselines, rowCount(rows));
  const returns = rewardToGo(rows, rewards, 1);
  const advantages = new Float64Array(returns.length);
  for (let row = 0; row < baselines.length; row++)
    for (let token = rows.offsets[row]!; token < rows.offsets[row + 1]!; token++)
      if (rows.mask[token] === 1) advantages[token] = returns[token]! - baselines[row]!;
  return { advantages, returns };
}
