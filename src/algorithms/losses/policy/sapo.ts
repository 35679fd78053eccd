/**
 * @file SAPO: a soft gate in the place of the clip.
 *
 *   L = −A·σ(τ·(ρ − 1))·4/τ       τ 1 where A > 0, 1.05 elsewhere; ρ = e^clamp(Δ, ±20)
 *
 * Put together as seq-mean-token-mean. At ρ = 1 its gradient is that of the plain policy gradient, and it
 * fades as ρ leaves 1; faster for negative advantages, which are the noisier ones.
 *
 * Source: arXiv:2511.20347; verl compute_policy_loss_sapo.
 */
import { where, zerosLike } from "../../../torch/index.ts";
import type { PolicyLossKind } from "./policy.ts";

export const sapo: PolicyLossKind = {
  aggregation: "seq-mean-token-mean",
  needsSignal: true,
  tokenLosses({ advantages, logRatio }, { tauPositive = 1, tauNegative = 1.05 }) {
    if (!(tauPositive > 0 && tauNegative > 0))
      throw new RangeError(`sapo: τ is ${tauPositive} and ${tauNegative}, expected more than 0`);
    const delta = logRatio.clamp(-20, 20);
    const positive = advantages.gt(0);
    const gate = (tau: number) =>
      delta
        .exp()
        .sub(1)
        .mul(tau)
        .sigmoid()
        .mul(4 / tau);
    const gates = where(positive, gate(tauPositive), gate(tauNegative));
    return {
      losses: gates.mul(advantages).neg(),
      metrics: {
        "actor/pg_clipfrac": zerosLike(advantages),
        "actor/pg_clipfrac_lower": zerosLike(advantages),
        "actor/ppo_kl": delta.neg(),
      },
    };
  },
};
