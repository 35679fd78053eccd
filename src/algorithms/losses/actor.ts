/**
 * @file The actor's whole loss.
 *
 *   loss = policy − c_entropy·H + c_kl·KL
 *
 * Source: verl workers/actor/dp_actor.py.
 */
import { type Tensor, tidy } from "../../torch/index.ts";

export interface ActorLossTerms {
  policy: Tensor;
  /** See `entropyBonus`. */
  entropy?: { loss: Tensor; coefficient: number } | undefined;
  /** See `klLoss`. */
  kl?: { loss: Tensor; coefficient: number } | undefined;
}

export function actorLoss({ policy, entropy, kl }: ActorLossTerms): Tensor {
  return tidy(() => {
    let loss = policy.alias();
    if (entropy) loss = loss.sub(entropy.loss, entropy.coefficient);
    if (kl) loss = loss.add(kl.loss, kl.coefficient);
    return loss;
  });
}
