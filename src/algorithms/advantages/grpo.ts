/**
 * @file GRPO and Dr.GRPO, group-relative advantages.
 *
 *   GRPO      A_i = (s_i − μ_g) / (σ_g + ε)      σ_g unbiased, ε 1e-6
 *   Dr.GRPO   A_i =  s_i − μ_g                   `divideByDeviation: false`
 *
 * A group of one has μ 0 and σ 1, so its advantage is its score (as in verl); say `singleton: "zero"`
 * to train nothing on it. Equal scores give exactly 0.
 *
 * verl's `grpo_vectorized` clamped the variance at 1e-6 and has since stopped doing so: it is this.
 *
 * Source: Shao et al. 2024, arXiv:2402.03300; Liu et al. 2025, arXiv:2503.20783 (Dr.GRPO); verl
 * compute_grpo_outcome_advantage.
 */
import { groupRows, normalizeByGroup } from "../groups.ts";
import { type Advantages, scoresOf } from "../rows.ts";
import { type OutcomeInput, type OutcomeOptions, perRow } from "./outcome.ts";

export interface GrpoOptions extends OutcomeOptions {
  /** verl's norm_adv_by_std_in_grpo. Default true. */
  divideByDeviation?: boolean | undefined;
  /** Default 1e-6. */
  epsilon?: number | undefined;
}

export function grpo(input: OutcomeInput, options: GrpoOptions = {}): Advantages {
  const scores = scoresOf("grpo", input.rows, input.rewards);
  const grouping = groupRows("grpo", scores.length, input.groups, input.trajectories, input.order);
  const advantages = normalizeByGroup(scores, grouping, {
    divide: options.divideByDeviation ?? true,
    singleton: options.singleton ?? "score",
    epsilon: options.epsilon ?? 1e-6,
  });
  return perRow(input.rows, advantages);
}
