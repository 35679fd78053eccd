/**
 * @file Clip-Cov: PPO's clipped loss without a few of the tokens that collapse the entropy.
 *
 *   L = max(−A·ρ, −A·clip(ρ, 1−ε_low, 1+ε_high)), and 0 for max(1, ⌊r·n⌋) tokens, drawn among those with
 *   low < cov < high that the clip did not change         r 2e-4, low 1, high 5; cov: covariance.ts
 *
 * ρ = e^clamp(Δ, ±20); the reference does not limit Δ.
 *
 * Source: Cui et al. 2025, arXiv:2505.22617; verl compute_policy_loss_clip_cov.
 */
import { randperm, tidy, where } from "../../../torch/index.ts";
import { covariance, selection } from "./covariance.ts";
import { clipRange, type PolicyLossKind } from "./policy.ts";

export const clipCov: PolicyLossKind = {
  tokenLosses(terms, options) {
    const { advantages, logRatio } = terms;
    const { low, high } = clipRange(options);
    const { clipCovRatio = 2e-4, clipCovLow = 1, clipCovHigh = 5, generator } = options;
    if (!generator) throw new TypeError("clip_cov chooses tokens at random: it needs a generator");
    const ratio = logRatio.clamp(-20, 20).exp();
    const unclipped = advantages.neg().mul(ratio);
    const clipped = advantages.neg().mul(ratio.clamp(1 - low, 1 + high));
    const changed = clipped.gt(unclipped).toNumbers();
    const { covariances, trained } = covariance(terms);
    const candidates = trained.filter((token) => {
      const value = covariances[token]!;
      return changed[token] === 0 && value > clipCovLow && value < clipCovHigh;
    });
    const count = Math.max(1, Math.floor(clipCovRatio * trained.length));
    const order = tidy(() => randperm(candidates.length, generator).toNumbers());
    const chosen = Array.from(order.subarray(0, count), (place) => candidates[place]!);
    const cut = selection(chosen, advantages);
    return {
      losses: where(cut, 0, unclipped.maximum(clipped)),
      metrics: { "actor/pg_clipfrac": cut, "actor/ppo_kl": logRatio.neg() },
    };
  },
};
