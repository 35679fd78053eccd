/**
 * @file GAE, generalized advantage estimation with a critic.
 *
 * Over the trained tokens of a row, from the last to the first, as if nothing stood between them:
 *
 *   δ_t = r_t + γ·V_{t+1} − V_t        (V after the last token: 0)
 *   A_t = δ_t + γ·λ·A_{t+1}
 *   returns_t = A_t + V_t              advantages = whiten(A) over the whole batch
 *
 * Observation tokens have no value, no reward and cost no discount: the critic's output there means
 * nothing, and a turn is followed by the next turn. Returns are taken before whitening.
 *
 * Source: Schulman et al. 2016, arXiv:1506.02438; verl compute_gae_advantage_return.
 */
import { type Advantages, checkRows, checkTokens, type Numbers, type Rows } from "../rows.ts";
import { whiten } from "../statistics.ts";

export interface GaeInput {
  rows: Rows;
  /** [tokens] */
  rewards: Numbers;
  /** [tokens] The critic's values before the update. */
  values: Numbers;
}

export interface GaeOptions {
  /** Discount per trained token. Default 1. */
  gamma?: number | undefined;
  /** Default 1. */
  lambda?: number | undefined;
  /** Whiten the advantages over the batch. Default true, as verl and the PPO details do. */
  whiten?: boolean | undefined;
}

export function gae({ rows, rewards, values }: GaeInput, options: GaeOptions = {}): Advantages {
  const { gamma = 1, lambda = 1 } = options;
  checkRows("gae", rows);
  checkTokens("gae", "the reward", rewards, rows);
  checkTokens("gae", "the value", values, rows);
  const { offsets, mask } = rows;
  const advantages = new Float64Array(mask.length);
  const returns = new Float64Array(mask.length);
  for (let row = 0; row + 1 < offsets.length; row++) {
    let nextValue = 0;
    let nextAdvantage = 0;
    for (let token = offsets[row + 1]! - 1; token >= offsets[row]!; token--) {
      if (mask[token] !== 1) continue;
      const delta = rewards[token]! + gamma * nextValue - values[token]!;
      nextAdvantage = delta + gamma * lambda * nextAdvantage;
      nextValue = values[token]!;
      advantages[token] = nextAdvantage;
      returns[token] = nextAdvantage + nextValue;
    }
  }
  return {
    advantages: (options.whiten ?? true) ? whiten(advantages, mask) : advantages,
    returns,
  };
}
