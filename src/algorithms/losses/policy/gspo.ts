/**
 * @file GSPO: the ratio of whole answers, by their geometric mean, clipped once for all tokens.
 *
 *   log s_i = mean_t Δ_it       s_it = sg(s_i)·π_it/sg(π_it)       log s_it at most 10
 *   L_it = max( −A·s_it, −A·clip(s_it, 1−ε_low, 1+ε_high) )        put together as seq-mean-token-mean
 *
 * sg: without gradient. Every token has its row's value, and the gradient of its own
 * log-probability. The paper's ε are small: 3e-4 below, 4e-4 above.
 *
 * Source: Zheng et al. 2025, arXiv:2507.18071; verl compute_policy_loss_gspo.
 */
import { zerosLike } from "../../../torch/index.ts";
import { rowOperations } from "../packed.ts";
import { clipRange, type PolicyLossKind } from "./policy.ts";

export const gspo: PolicyLossKind = {
  aggregation: "seq-mean-token-mean",
  needsSignal: true,
  tokenLosses({ rows, logprobs, advantages, logRatio }, options) {
    const { low, high } = clipRange(options);
    const perRow = rowOperations(rows, logprobs);
    const rowLogRatio = perRow.spread(perRow.mean(logRatio.detach()));
    const ratio = logprobs.sub(logprobs.detach()).add(rowLogRatio).clamp(null, 10).exp();
    const unclipped = advantages.neg().mul(ratio);
    const clipped = advantages.neg().mul(ratio.clamp(1 - low, 1 + high));
    return {
      losses: unclipped.maximum(clipped),
      metrics: {
        "actor/pg_clipfrac": clipped.gt(unclipped),
        "actor/pg_clipfrac_lower": zerosLike(advantages),
        "actor/ppo_kl": logRatio.neg(),
      },
    };
  },
};
