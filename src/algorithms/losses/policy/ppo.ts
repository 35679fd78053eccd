/**
 * @file PPO's clipped loss with the dual clip (verl's "vanilla"), and with different ε below and above
 * DAPO's clip-higher.
 *
 *   Δ = clamp(logπ − logπ_old, ±20)       ρ = e^Δ
 *   C = max( −A·ρ, −A·clip(ρ, 1−ε_low, 1+ε_high) )
 *   L = A < 0 ? min(−A·c, C) : C
 *
 * The dual clip bounds what a token with a negative advantage and a ratio that ran away can do.
 *
 * Source: Schulman et al. 2017, arXiv:1707.06347; Ye et al. 2020, arXiv:1912.09729 (dual clip); Yu et
 * al. 2025, arXiv:2503.14476 (clip-higher); verl compute_policy_loss_vanilla.
 */
import { where } from "../../../torch/index.ts";
import { clipRange, type PolicyLossKind } from "./policy.ts";

export const ppo: PolicyLossKind = {
  needsSignal: true,
  tokenLosses({ advantages, logRatio }, options) {
    const { low, high } = clipRange(options);
    const { clipRatioC = 3 } = options;
    if (!(clipRatioC > 1))
      throw new RangeError(`clipRatioC is ${clipRatioC}, expected more than 1 (3 is usual)`);
    const delta = logRatio.clamp(-20, 20);
    const ratio = delta.exp();
    const unclipped = advantages.neg().mul(ratio);
    const clipped = advantages.neg().mul(ratio.clamp(1 - low, 1 + high));
    const pessimistic = unclipped.maximum(clipped);
    const most = advantages.mul(-clipRatioC);
    const negative = advantages.lt(0);
    return {
      losses: where(negative, most.minimum(pessimistic), pessimistic),
      metrics: {
        "actor/pg_clipfrac": clipped.gt(unclipped),
        "actor/pg_clipfrac_lower": pessimistic.gt(most).logicalAnd(negative),
        "actor/ppo_kl": delta.neg(),
      },
    };
  },
};
