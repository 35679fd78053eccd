/**
 * @file A ModelConfig as the config.json that transformers, vLLM and llama.cpp's converter read.
 */
import { ACTIVATIONS, architectureName, FAMILIES } from "./families.ts";
import type { ModelConfig, RopeConfig } from "./model-config.ts";
import { FULL, SLIDING } from "./windows.ts";

/**
 * The content of config.json. Rope is written in both spellings (`rope_theta` with `rope_scaling`,
 * and `rope_parameters`), because readers of either age ignore the other one.
 */
export function toConfigJson(config: ModelConfig): Record<string, unknown> {
  const facts = FAMILIES[config.family];
  return {
    architectures: [architectureName(config.family, config.head)],
    model_type: config.family,
    vocab_size: config.vocabularySize,
    hidden_size: config.hiddenSize,
    intermediate_size: config.intermediateSize,
    num_hidden_layers: config.layers,
    num_attention_heads: config.heads,
    num_key_value_heads: config.keyValueHeads,
    head_dim: config.headDimension,
    [facts.gemma ? "hidden_activation" : "hidden_act"]: ACTIVATIONS[config.activation],
    max_position_embeddings: config.maximumPositions,
    rms_norm_eps: config.normEpsilon,
    tie_word_embeddings: config.tiedEmbeddings,
    ...(facts.bias === "configured" && { attention_bias: config.outputBias }),
    ...(["llama", "smollm3"].includes(config.family) && { mlp_bias: false }),
    ...(facts.gemma && {
      query_pre_attn_scalar: config.attentionScalar,
      final_logit_softcapping: null,
      attn_logit_softcapping: null,
    }),
    ...(facts.layersWithoutRope && {
      no_rope_layers: Array.from({ length: config.layers }, (_, i) =>
        config.withoutRope.includes(i) ? 0 : 1,
      ),
    }),
    ...windowsJson(config),
    ...ropesJson(config),
    attention_dropout: config.attentionDropout,
    initializer_range: config.initializerRange,
    bos_token_id: config.bosTokenId,
    eos_token_id: tokenIdsJson(config.eosTokenIds),
    pad_token_id: config.padTokenId,
    use_cache: true,
    ...(config.dtype !== null && { torch_dtype: config.dtype, dtype: config.dtype }),
    ...(config.head === "token-classification" && labelsJson(config.labels)),
  };
}

/** One id as a number, several as a list, none as null. */
export function tokenIdsJson(ids: readonly number[]): number | readonly number[] | null {
  return ids.length > 1 ? ids : (ids[0] ?? null);
}

function ropesJson({ rope, localRope }: ModelConfig): object {
  const { theta, ...scaling } = ropeJson(rope);
  const [own, local] = [rope, localRope].map((each) => {
    if (each === null) return null;
    const { theta: rope_theta, ...rest } = ropeJson(each);
    return { rope_theta, ...rest };
  });
  return {
    rope_theta: theta,
    rope_scaling: rope.kind === "default" ? null : scaling,
    ...(localRope && { rope_local_base_freq: localRope.theta }),
    rope_parameters: local ? { [FULL]: own, [SLIDING]: local } : own,
  };
}

function ropeJson(rope: RopeConfig): { theta: number; rope_type: string } {
  const { theta, kind: rope_type } = rope;
  switch (rope.kind) {
    case "default":
      return { theta, rope_type };
    case "linear":
    case "dynamic":
      return { theta, rope_type, ...{ factor: rope.factor } };
    case "llama3":
      return {
        theta,
        rope_type,
        ...{
          factor: rope.factor,
          low_freq_factor: rope.lowFrequencyFactor,
          high_freq_factor: rope.highFrequencyFactor,
          original_max_position_embeddings: rope.originalMaximumPositions,
        },
      };
    case "yarn":
      return {
        theta,
        rope_type,
        ...{
          factor: rope.factor,
          original_max_position_embeddings: rope.originalMaximumPositions,
          beta_fast: rope.betaFast,
          beta_slow: rope.betaSlow,
          truncate: rope.truncate,
        },
        ...(rope.attentionFactor !== null && { attention_factor: rope.attentionFactor }),
        ...(rope.mscale !== null && { mscale: rope.mscale }),
        ...(rope.mscaleAllDimensions !== null && { mscale_all_dim: rope.mscaleAllDimensions }),
      };
  }
}

function windowsJson({ family, slidingWindows: windows, layers }: ModelConfig): object {
  const window = windows.find((size) => size !== null) ?? null;
  const { slidingWindow } = FAMILIES[family];
  if (slidingWindow === "none") return {};
  if (slidingWindow === "all") return { sliding_window: window };
  const first = windows.findIndex((size) => size !== null);
  return {
    ...(slidingWindow !== "pattern" && { use_sliding_window: window !== null }),
    sliding_window: window,
    ...(slidingWindow === "switched" && { max_window_layers: first < 0 ? layers : first }),
    layer_types: windows.map((size) => (size === null ? FULL : SLIDING)),
  };
}

/** transformers would drop out a tenth of the head's inputs in training if nothing were said. */
function labelsJson(labels: number): object {
  const names = Array.from({ length: labels }, (_, i) => `LABEL_${i}`);
  return {
    num_labels: labels,
    id2label: Object.fromEntries(names.map((name, i) => [String(i), name])),
    label2id: Object.fromEntries(names.map((name, i) => [name, i])),
    classifier_dropout: 0,
  };
}
