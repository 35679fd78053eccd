/**
 * @file The policy losses by the names of `actor.policy_loss.loss_mode`.
 */
import { cispo } from "./cispo.ts";
import { clipCov } from "./clip-cov.ts";
import { geoMean } from "./geo-mean.ts";
import { gpg } from "./gpg.ts";
import { gspo } from "./gspo.ts";
import { klCov } from "./kl-cov.ts";
import {
  computePolicyLoss,
  type LossAndMetrics,
  type PolicyLossInput,
  type PolicyLossKind,
  type PolicyLossOptions,
} from "./policy.ts";
import { ppo } from "./ppo.ts";
import { sapo } from "./sapo.ts";

export const policyLosses = {
  vanilla: ppo,
  ppo,
  gspo,
  sapo,
  gpg,
  geo_mean: geoMean,
  cispo,
  clip_cov: clipCov,
  kl_cov: klCov,
} satisfies Record<string, PolicyLossKind>;

export type PolicyLossName = keyof typeof policyLosses;

/** The policy loss of a micro-batch, by name. */
export function policyLoss(
  name: PolicyLossName,
  input: PolicyLossInput,
  options: PolicyLossOptions = {},
): LossAndMetrics {
  if (!Object.hasOwn(policyLosses, name))
    throw new RangeError(
      `Unknown policy loss ${name}; expected one of ${Object.keys(policyLosses).join(", ")}`,
    );
  return computePolicyLoss(name, policyLosses[name], input, options);
}
