/**
 * @file RLOO, REINFORCE with a leave-one-out baseline: each score against the mean of the others.
 *
 *   A_i = s_i − mean_{j≠i} s_j = n/(n−1)·(s_i − μ_g)
 *
 * A group of one has no others: 0. (verl keeps the bare score in `rloo` and gives 0 in
 * `rloo_vectorized`; a bare score would train on the reward's offset. `singleton: "score"` gives the
 * former.)
 *
 * Source: Ahmadian et al. 2024, arXiv:2402.14740; verl compute_rloo_outcome_advantage.
 */
import { groupRows, groupStatistics } from "../groups.ts";
import { type Advantages, scoresOf } from "../rows.ts";
import { type OutcomeInput, type OutcomeOptions, perRow } from "./outcome.ts";

export function rloo(input: OutcomeInput, options: OutcomeOptions = {}): Advantages {
  const scores = scoresOf("rloo", input.rows, input.rewards);
  const grouping = groupRows("rloo", scores.length, input.groups, input.trajectories, input.order);
  const { count, mean } = groupStatistics(scores, grouping);
  const advantages = scores.map((score, row) => {
    const group = grouping.groupOf[row]!;
    const n = count[group]!;
    if (n === 1) return options.singleton === "score" ? score : 0;
    return (n / (n - 1)) * (score - mean[group]!);
  });
  return perRow(input.rows, advantages);
}
