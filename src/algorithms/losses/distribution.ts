/**
 * @file What is read off a whole distribution over the vocabulary, from its logits z.
 *
 *   entropy            H = log Σ e^z − Σ π·z           π = softmax(z)
 *   squared            Σ π² = exp( log Σ e^{2z} − 2·log Σ e^z )
 *
 * A model that never materialises its logits computes these itself; these are for the ones that do, and
 * for tests.
 */
import { type Tensor, tidy } from "../../torch/index.ts";
import { type AggregationInput, aggregate } from "./aggregation.ts";
import { maskedInput } from "./packed.ts";
import type { LossAndMetrics } from "./policy/policy.ts";

/** [tokens, vocabulary] to [tokens], with gradients. */
export function entropyFromLogits(logits: Tensor): Tensor {
  return tidy(() => {
    const probabilities = logits.softmax(-1);
    // −inf logits (forbidden tokens) have probability 0 and must not meet it as 0·−inf.
    const finite = logits.clamp(-1e9);
    return logits.logsumexp(-1).sub(probabilities.mul(finite).sum(-1));
  });
}

/** [tokens, vocabulary] to [tokens]: Σ π², for the optimal token baseline. */
export function sumOfSquaredProbabilities(logits: Tensor): Tensor {
  return tidy(() => logits.mul(2).logsumexp(-1).sub(logits.logsumexp(-1), 2).exp());
}

/** The mean entropy by the input's aggregation: subtract it, times its coefficient, from the loss. */
export function entropyBonus(input: AggregationInput & { entropy: Tensor }): LossAndMetrics {
  return tidy(() => {
    const entropy = maskedInput("entropyBonus", "the entropy", input.entropy, input.rows);
    const loss = aggregate(entropy, input);
    return { loss, metrics: { "actor/entropy": loss.item() } };
  });
}
