/**
 * @file GMPO: the geometric mean of the clipped ratios of an answer.
 *
 *   d_t = sgn(A)·min( sgn(A)·Δ_t, sgn(A)·clamp(Δ_t, −ε_low, ε_high) )       (clipped in log space)
 *   L_i = −mean_t(A_t)·exp( mean_t d_t )                                   mean over rows
 *
 * Δ is limited to ±20 first, as in the other losses: a negative advantage leaves it open above, and e^Δ
 * must not become infinite. Written as a loss per token that is equal on all tokens of a row and put together as
 * seq-mean-token-mean, which is the mean over rows. verl divides by all rows of the micro-batch, those
 * without trained tokens too; here by the mini-batch's count, which does not have them. The paper means
 * one advantage per answer. Importance weights enter by their geometric mean over the row.
 *
 * Source: Zhao et al. 2025, arXiv:2507.20673; verl compute_policy_loss_geo_mean.
 */
import { where } from "../../../torch/index.ts";
import { maskTensor, rowOperations } from "../packed.ts";
import { clipRange, type PolicyLossKind } from "./policy.ts";

export const geoMean: PolicyLossKind = {
  aggregation: "seq-mean-token-mean",
  needsSignal: true,
  tokenLosses({ rows, advantages, logRatio }, options) {
    const { low, high } = clipRange(options);
    const delta = logRatio.clamp(-20, 20);
    const sign = advantages.sign();
    const clamped = delta.clamp(-low, high);
    const pessimistic = sign.mul(sign.mul(delta).minimum(sign.mul(clamped)));
    const perRow = rowOperations(rows, logRatio);
    const ratio = perRow.mean(pessimistic).exp();
    const clipped = delta.ne(clamped);
    return {
      losses: perRow.spread(perRow.mean(advantages).mul(ratio).neg()),
      metrics: {
        "actor/pg_clipfrac": clipped.logicalAnd(advantages.gt(0)),
        "actor/pg_clipfrac_lower": clipped.logicalAnd(advantages.lt(0)),
        "actor/ppo_kl": logRatio.neg(),
      },
    };
  },
  weigh(losses, weights, rows) {
    const perRow = rowOperations(rows, losses);
    const logs = where(maskTensor(rows, losses), weights.add(1e-10).log(), 0);
    const mean = perRow.mean(logs);
    return losses.mul(perRow.spread(mean.exp()));
  },
};
