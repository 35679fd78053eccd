/**
 * @file GRPO pass@k: only the best of a group is trained, by how much it beats the second best.
 *
 *   A_best = (s_best − s_second) / (σ_g + ε)      all others 0
 *
 * The sum over a group is an unbiased estimate of the gradient of "at least one of k succeeds". Two
 * equally good ones have no advantage over each other: all 0. A group of one is an error.
 *
 * Source: Tang et al. 2025, arXiv:2503.19595; verl compute_grpo_passk_outcome_advantage.
 */
import { groupRows, groupStatistics } from "../groups.ts";
import { type Advantages, scoresOf } from "../rows.ts";
import type { GrpoOptions } from "./grpo.ts";
import { type OutcomeInput, perRow } from "./outcome.ts";

export function grpoPassAtK(
  { rows, rewards, groups, trajectories, order }: OutcomeInput,
  options: Omit<GrpoOptions, "singleton"> = {},
): Advantages {
  const { divideByDeviation = true, epsilon = 1e-6 } = options;
  const scores = scoresOf("grpo_passk", rows, rewards);
  const grouping = groupRows("grpo_passk", scores.length, groups, trajectories, order);
  const { deviation } = groupStatistics(scores, grouping);
  const advantages = new Float64Array(scores.length);
  for (const [group, counted] of grouping.counted.entries()) {
    const [best, second] = [...counted].sort((a, b) => scores[b]! - scores[a]!);
    if (best === undefined || second === undefined)
      throw new RangeError(
        `grpo_passk: group ${grouping.ids[group]} has one member, and the best is compared with ` +
          "the second best: expected at least 2 per group. Sample more (rollout.n), or leave the " +
          "group out.",
      );
    const lead = scores[best]! - scores[second]!;
    const advantage = divideByDeviation ? lead / (deviation[group]! + epsilon) : lead;
    // With rows that are steps, every step of the best episode.
    for (let row = 0; row < scores.length; row++)
      if (row === best || (trajectories && trajectories[row] === trajectories[best]))
        advantages[row] = advantage;
  }
  return perRow(rows, advantages);
}
