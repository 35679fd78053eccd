/**
 * @file A pass of the generation engine as one native call (native/generation/decoder_pass.cc), for
 * float32 and bfloat16 models on the CPU: most of the time of a small model was spent between operators.
 */
import { embeddingScale, type Model, normsOfLayer, ropeOfLayer } from "../models/index.ts";
import { fromTypedArray, invoke, openmanus, type Tensor } from "../torch/index.ts";
import type { CacheStore } from "./cache/store.ts";
import type { Layout } from "./layout.ts";
import type { PassWeights } from "./short-weights.ts";
import type { RotaryTable } from "./step.ts";

const decoderStep = openmanus("decoder_step");

/** A layer's weights in the order in which the operator takes them. */
function weightsOfLayer(model: Model, from: PassWeights, index: number): (Tensor | null)[] {
  const weight = (name: string) => from.layer(index, name);
  const norms = normsOfLayer(model, index);
  return [
    weight("input_layernorm.weight"),
    weight("self_attn.qkv_proj.weight"),
    weight("self_attn.qkv_proj.bias"),
    weight("self_attn.q_norm.weight"),
    weight("self_attn.k_norm.weight"),
    weight("self_attn.o_proj.weight"),
    weight("self_attn.o_proj.bias"),
    norms.afterAttention,
    norms.beforeFeedForward,
    weight("mlp.gate_up_proj.weight"),
    weight("mlp.down_proj.weight"),
    norms.afterFeedForward,
  ];
}

/**
 * Whether the native pass computes this model as it is now: without an adapter, or with one that is merged into the
 * weights. They may be in float32 or bfloat16; everything is summed in float32.
 */
export function hasNativePass(model: Model): boolean {
  if (model.device !== "cpu" || (model.adapter && !model.adapter.merged)) return false;
  for (const { dtype } of model.parameters.values())
    if (dtype !== "float32" && dtype !== "bfloat16") return false;
  return true;
}

/** Logits [wanted, vocabulary]; with the model's own weights, or a copy of them in fewer bytes. */
export function nativePass(
  model: Model,
  cache: CacheStore,
  table: RotaryTable,
  layout: Layout,
  from: PassWeights = model,
): Tensor {
  const { config } = model;
  const weights = [
    from.parameters.get("model.embed_tokens.weight")!,
    from.parameters.get("model.norm.weight")!,
    from.output,
  ];
  const layers = Array.from({ length: config.layers }, (_, index) =>
    weightsOfLayer(model, from, index).map((weight) => weight?.handle ?? null),
  );
  return invoke(
    decoderStep,
    [...weights.map(({ handle }) => handle), ...layers.flat()],
    cache.keys.map(({ handle }) => handle),
    cache.values.map(({ handle }) => handle),
    table.cos.handle,
    table.sin.handle,
    fromTypedArray(layout.ids).handle,
    fromTypedArray(layout.queryOffsets).handle,
    fromTypedArray(layout.lengths).handle,
    fromTypedArray(layout.pageOffsets).handle,
    fromTypedArray(layout.pages).handle,
    fromTypedArray(layout.wanted).handle,
    config.heads,
    config.slidingWindows.map((window) => window ?? -1),
    layers.map((_, index) => ropeOfLayer(config, index) ?? -1),
    config.normEpsilon,
    1 / Math.sqrt(config.attentionScalar ?? config.headDimension),
    embeddingScale(model),
    config.normsAddOne,
    config.activation === "gelu-tanh",
  );
}
