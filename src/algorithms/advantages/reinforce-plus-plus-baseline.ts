/**
 * @file REINFORCE++ with a baseline: scores centred inside the group, then whitened over all trained
 * tokens of the batch (not divided by the group's own deviation, as GRPO does).
 *
 *   A = whiten( s_i − μ_g on each trained token )
 *
 * A group of one has μ 0 (as in verl), or enters the whitening as 0 by `singleton: "zero"`.
 *
 * Source: Hu 2025, arXiv:2501.03262; verl
 * compute_reinforce_plus_plus_baseline_outcome_advantage.
 */
import { groupRows, normalizeByGroup } from "../groups.ts";
import { type Advantages, broadcast, scoresOf } from "../rows.ts";
import { whiten } from "../statistics.ts";
import type { OutcomeInput, OutcomeOptions } from "./outcome.ts";

export function reinforcePlusPlusBaseline(
  { rows, rewards, groups, trajectories, order }: OutcomeInput,
  options: OutcomeOptions = {},
): Advantages {
  const who = "reinforce_plus_plus_baseline";
  const scores = scoresOf(who, rows, rewards);
  const grouping = groupRows(who, scores.length, groups, trajectories, order);
  const centred = normalizeByGroup(scores, grouping, {
    divide: false,
    singleton: options.singleton ?? "score",
    epsilon: 0,
  });
  const advantages = whiten(broadcast(rows, centred), rows.mask);
  return { advantages, returns: advantages };
}
