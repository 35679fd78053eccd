/**
 * @file GPG's loss: the plain policy gradient, without a ratio.
 *
 *   L = −A·logπ
 *
 * With importance weights it is REINFORCE corrected for the rollout (verl's bypass_mode, "reinforce").
 *
 * Source: Chu et al. 2025, arXiv:2504.02546; verl compute_policy_loss_gpg.
 */
import type { PolicyLossKind } from "./policy.ts";

export const gpg: PolicyLossKind = {
  needsSignal: true,
  tokenLosses({ logprobs, advantages, logRatio }) {
    return {
      losses: logprobs.mul(advantages).neg(),
      metrics: { "actor/ppo_kl": logRatio.neg() },
    };
  },
};
