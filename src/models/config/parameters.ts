/**
 * @file The tensors that a model of a given configuration has: transformers' names and shapes.
 */
import type { ModelConfig } from "./model-config.ts";

/** Name to shape, in the order in which transformers lists them. */
export function parameterShapes(config: ModelConfig): Map<string, number[]> {
  const shapes = new Map<string, number[]>();
  shapes.set("model.embed_tokens.weight", [config.vocabularySize, config.hiddenSize]);
  for (let layer = 0; layer < config.layers; layer++)
    for (const [name, shape] of layerShapes(config))
      shapes.set(`model.layers.${layer}.${name}`, shape);
  shapes.set("model.norm.weight", [config.hiddenSize]);
  if (config.head === "token-classification") {
    shapes.set("score.weight", [config.labels, config.hiddenSize]);
    shapes.set("score.bias", [config.labels]);
  } else if (!config.tiedEmbeddings) {
    shapes.set("lm_head.weight", [config.vocabularySize, config.hiddenSize]);
  }
  return shapes;
}

function layerShapes(config: ModelConfig): [string, number[]][] {
  const { hiddenSize, intermediateSize, headDimension } = config;
  const queries = config.heads * headDimension;
  const keys = config.keyValueHeads * headDimension;
  const linear = (name: string, out: number, into: number, bias: boolean): [string, number[]][] => [
    [`${name}.weight`, [out, into]],
    ...(bias ? [[`${name}.bias`, [out]] as [string, number[]]] : []),
  ];
  return [
    ...linear("self_attn.q_proj", queries, hiddenSize, config.queryKeyValueBias),
    ...linear("self_attn.k_proj", keys, hiddenSize, config.queryKeyValueBias),
    ...linear("self_attn.v_proj", keys, hiddenSize, config.queryKeyValueBias),
    ...linear("self_attn.o_proj", hiddenSize, queries, config.outputBias),
    ...(config.queryKeyNorm
      ? ([
          ["self_attn.q_norm.weight", [headDimension]],
          ["self_attn.k_norm.weight", [headDimension]],
        ] as [string, number[]][])
      : []),
    ...linear("mlp.gate_proj", intermediateSize, hiddenSize, false),
    ...linear("mlp.up_proj", intermediateSize, hiddenSize, false),
    ...linear("mlp.down_proj", hiddenSize, intermediateSize, false),
    ["input_layernorm.weight", [hiddenSize]],
    ["post_attention_layernorm.weight", [hiddenSize]],
    ...(config.outputNorms
      ? ([
          ["pre_feedforward_layernorm.weight", [hiddenSize]],
          ["post_feedforward_layernorm.weight", [hiddenSize]],
        ] as [string, number[]][])
      : []),
  ];
}

/** How many numbers the model has; tied embeddings count once. */
export function parameterCount(config: ModelConfig): number {
  return [...parameterShapes(config).values()].reduce(
    (sum, shape) => sum + shape.reduce((product, size) => product * size, 1),
    0,
  );
}
