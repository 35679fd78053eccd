/**
 * @file A pass of the generation engine as one native call (native/generation/decoder_pass.cc), for
 * float32 models on the CPU: most of the time of a small model was spent between operators.
 */
import type { Model } from "../models/index.ts";
import { fromTypedArray, invoke, openmanus, type Tensor } from "../torch/index.ts";
import type { CacheStore } from "./cache/store.ts";
import type { Layout } from "./layout.ts";
import type { RotaryTable } from "./step.ts";

const decoderStep = openmanus("decoder_step");

/** A layer's weights in the order in which the operator takes them. */
const LAYER = [
  "input_layernorm.weight",
  "self_attn.qkv_proj.weight",
  "self_attn.qkv_proj.bias",
  "self_attn.q_norm.weight",
  "self_attn.k_norm.weight",
  "self_attn.o_proj.weight",
  "self_attn.o_proj.bias",
  "post_attention_layernorm.weight",
  "mlp.gate_up_proj.weight",
  "mlp.down_proj.weight",
];

/** Whether the native pass computes this model as it is now: an adapter may come and go. */
export function hasNativePass(model: Model): boolean {
  if (model.adapter !== null || model.device !== "cpu") return false;
  for (const parameter of model.parameters.values())
    if (parameter.dtype !== "float32") return false;
  return true;
}

/** Logits [wanted, vocabulary]. */
export function nativePass(
  model: Model,
  cache: CacheStore,
  table: RotaryTable,
  layout: Layout,
): Tensor {
  const { config, parameters } = model;
  const weights = [
    parameters.get("model.embed_tokens.weight")!,
    parameters.get("model.norm.weight")!,
    model.output,
  ];
  const layers = Array.from({ length: config.layers }, (_, index) =>
    LAYER.map((name) => model.layer(index, name)?.handle ?? null),
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
    config.normEpsilon,
  );
}
