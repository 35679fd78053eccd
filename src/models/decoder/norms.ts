/**
 * @file The norms of a layer, and how a family normalises. The same name means different places: Llama's
 * post_attention_layernorm is before the feed-forward part, Gemma 3's is what attention gives.
 */
import { rmsNorm, type Tensor } from "../../torch/index.ts";
import type { ModelConfig } from "../config/model-config.ts";
import type { Model } from "./model.ts";

export interface LayerNorms {
  beforeFeedForward: Tensor;
  /** Of what attention gives, before it is added to x; null for none. */
  afterAttention: Tensor | null;
  /** Of what the feed-forward part gives; null for none. */
  afterFeedForward: Tensor | null;
}

export function normsOfLayer(model: Model, index: number): LayerNorms {
  const norm = (name: string): Tensor => model.layer(index, `${name}_layernorm.weight`)!;
  if (!model.config.outputNorms)
    return {
      beforeFeedForward: norm("post_attention"),
      afterAttention: null,
      afterFeedForward: null,
    };
  return {
    beforeFeedForward: norm("pre_feedforward"),
    afterAttention: norm("post_attention"),
    afterFeedForward: norm("post_feedforward"),
  };
}

/** RMSNorm over the last dimension. */
export function normalised(config: ModelConfig, x: Tensor, weight: Tensor): Tensor {
  if (!config.normsAddOne) return rmsNorm(x, weight, config.normEpsilon);
  // The weight is kept as in files, so that weight decay and rounding are transformers': one is added
  // here, and short floats are rounded once, at the end.
  const wide = x.dtype === "float64" ? "float64" : "float32";
  return rmsNorm(x.to(wide), weight.to(wide).add(1), config.normEpsilon).to(x.dtype);
}
