/**
 * @file CISPO: clip the weight of a token, never its gradient.
 *
 *   L = −sg( clip(ρ, 1−ε_low, 1+ε_high) )·A·logπ       ρ = e^clamp(Δ, ±20); sg: without gradient
 *
 * Source: MiniMax 2025, arXiv:2506.13585; verl compute_policy_loss_cispo.
 */
import { zerosLike } from "../../../torch/index.ts";
import { clipRange, type PolicyLossKind } from "./policy.ts";

export const cispo: PolicyLossKind = {
  needsSignal: true,
  tokenLosses({ logprobs, advantages, logRatio }, options) {
    const { low, high } = clipRange(options);
    const delta = logRatio.detach().clamp(-20, 20);
    const ratio = delta.exp();
    const clipped = ratio.clamp(1 - low, 1 + high);
    return {
      losses: clipped.mul(advantages).mul(logprobs).neg(),
      metrics: {
        "actor/pg_clipfrac": ratio.ne(clipped),
        "actor/pg_clipfrac_lower": zerosLike(advantages),
        "actor/ppo_kl": delta.neg(),
      },
    };
  },
};
