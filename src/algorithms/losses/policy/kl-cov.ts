/**
 * @file KL-Cov: the plain ratio loss, with the few tokens that collapse the entropy most held back.
 *
 *   L = −A·ρ, and + c·|Δ| for the max(1, ⌊r·n⌋) tokens of the largest cov      r 2e-4, c 1; covariance.ts
 *
 * Δ limited to ±20; the reference does not limit it.
 *
 * Source: Cui et al. 2025, arXiv:2505.22617; verl compute_policy_loss_kl_cov.
 */
import { where } from "../../../torch/index.ts";
import { covariance, selection } from "./covariance.ts";
import type { PolicyLossKind } from "./policy.ts";

export const klCov: PolicyLossKind = {
  tokenLosses(terms, { klCovRatio = 2e-4, klCovCoefficient = 1 }) {
    const { advantages, logRatio } = terms;
    const delta = logRatio.clamp(-20, 20);
    const { covariances, trained } = covariance(terms);
    const count = Math.max(1, Math.floor(klCovRatio * trained.length));
    const chosen = trained.sort((a, b) => covariances[b]! - covariances[a]!).slice(0, count);
    const plain = advantages.neg().mul(delta.exp());
    const held = plain.add(delta.abs(), klCovCoefficient);
    return {
      losses: where(selection(chosen, advantages), held, plain),
      metrics: { "actor/ppo_kl": logRatio.abs() },
    };
  },
};
