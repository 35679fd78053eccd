/**
 * @file What a forward pass is for: log-probabilities and entropies of given tokens, logits, values.
 */
import { type Tensor, tidy, tokenLogprob } from "../../torch/index.ts";
import { constrainedLogprob } from "./constrained.ts";
import { type ForwardOptions, hiddenStates } from "./forward.ts";
import type { Model } from "./model.ts";
import type { PackedSequences } from "./packed.ts";

export interface TokenOutputs {
  /** log p of each target, float32 [selected]. */
  logprobs: Tensor;
  /** Entropy of each distribution, float32 [selected]; null when nobody asked. */
  entropies: Tensor | null;
}

export interface TokenOptions extends ForwardOptions {
  /** Log-probabilities of the distribution with logits / temperature. */
  temperature?: number;
  /** Default true. */
  entropy?: boolean;
  /** By selected token: the ids that could come there, the target among them. Others: all could. */
  allowed?: ReadonlyMap<number, readonly number[]>;
}

/**
 * The log-probability of `targets[i]` after token `places[i]` of the packed batch (both int64
 * [selected]), among those that are allowed there. The whole [tokens, vocabulary] never exists.
 */
export function tokenOutputs(
  model: Model,
  batch: PackedSequences,
  places: Tensor,
  targets: Tensor,
  options: TokenOptions = {},
): TokenOutputs {
  return tidy(() => {
    const hidden = hiddenStates(model, batch, options).indexSelect(0, places);
    const { allowed, temperature = 1, entropy: wantsEntropy = true } = options;
    const how = { temperature, entropy: wantsEntropy };
    const { logprob, entropy } = allowed?.size
      ? constrainedLogprob(hidden, model.output, targets, allowed, how)
      : tokenLogprob(hidden, model.output, targets, how);
    return { logprobs: logprob, entropies: entropy };
  });
}

/** All logits, [tokens, vocabulary]: for small models and tests. */
export function logits(model: Model, batch: PackedSequences, options: ForwardOptions = {}): Tensor {
  return tidy(() => hiddenStates(model, batch, options).linear(model.output));
}

/**
 * One value per token, float32 [tokens] (float64 of a float64 model), of a value model. The head
 * computes in float32 whatever the backbone does: bfloat16 has no more than three digits.
 */
export function values(model: Model, batch: PackedSequences, options: ForwardOptions = {}): Tensor {
  const score = model.parameters.get("score.weight");
  if (score?.size(0) !== 1)
    throw new Error(
      `values: this model has ${score ? `${score.size(0)} labels` : "no score.weight"}; expected a ` +
        "value model, with one (see valueModelFrom)",
    );
  return tidy(() => {
    const hidden = hiddenStates(model, batch, options);
    const dtype = hidden.dtype === "float64" ? "float64" : "float32";
    const bias = model.parameters.get("score.bias")?.to(dtype) ?? null;
    return hidden.to(dtype).linear(score.to(dtype), bias).squeeze(-1);
  });
}
