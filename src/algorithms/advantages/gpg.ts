/**
 * @file GPG, group policy gradient: centred scores, scaled up by how few of the batch's rows have a
 * score at all, so that groups without signal do not shrink the step.
 *
 *   α = rows / max(1, rows with s ≠ 0)      A_i = α·(s_i − μ_g) / f
 *
 * Goes with the loss `gpg`. A group of one has μ 0 (its advantage is α·score), or gets 0 by
 * `singleton: "zero"`. α counts scores of 0, so, unlike the others here, GPG is not indifferent to a
 * constant added to all rewards.
 *
 * Source: Chu et al. 2025, arXiv:2504.02546; verl compute_gpg_outcome_advantage.
 */
import { groupRows, normalizeByGroup } from "../groups.ts";
import { type Advantages, scoresOf } from "../rows.ts";
import { type OutcomeInput, type OutcomeOptions, perRow } from "./outcome.ts";

export interface GpgOptions extends OutcomeOptions {
  /** f, by which advantages are divided. Default 1. */
  normalizer?: number | undefined;
}

export function gpg(input: OutcomeInput, options: GpgOptions = {}): Advantages {
  const scores = scoresOf("gpg", input.rows, input.rewards);
  const grouping = groupRows("gpg", scores.length, input.groups, input.trajectories, input.order);
  const nonzero = scores.reduce((count, score) => count + (score === 0 ? 0 : 1), 0);
  const scale = scores.length / Math.max(1, nonzero) / (options.normalizer ?? 1);
  const centred = normalizeByGroup(scores, grouping, {
    divide: false,
    singleton: options.singleton ?? "score",
    epsilon: 0,
  });
  return perRow(
    input.rows,
    centred.map((value) => scale * value),
  );
}
