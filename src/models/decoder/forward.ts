/**
 * @file The forward pass over packed sequences: token ids to hidden states, for training.
 *
 *   x ← x + o(attention(rotary(norm(q, k)), v))      of norm(x)
 *   x ← x + down(silu(gate) · up)                    of norm(x)
 *
 * One implementation for all families; their differences are in the configuration.
 */
import {
  attention,
  checkpoint,
  feedForward as feedForwardBlock,
  type Generator,
  linear,
  rmsNorm,
  rotary,
  swigluJoined,
  type Tensor,
  tidy,
} from "../../torch/index.ts";
import type { Model } from "./model.ts";
import type { PackedSequences } from "./packed.ts";
import { packedAngles, type RotaryAngles } from "./rotary-table.ts";

export interface ForwardOptions {
  /**
   * Keep only what is between layers, and compute layers again in backward: so many layers are one
   * checkpointed segment. 0 (the default) keeps everything.
   */
  layersPerSegment?: number;
  /** Where an adapter's dropout is drawn from, in training. Default: nothing is dropped. */
  dropout?: Generator | null;
}

/** The last layer's normalised hidden states [tokens, hiddenSize]. */
export function hiddenStates(
  model: Model,
  batch: PackedSequences,
  options: ForwardOptions = {},
): Tensor {
  const { config, parameters } = model;
  const { layersPerSegment = 0, dropout = null } = options;
  if (batch.longest > config.maximumPositions && config.rope.kind !== "dynamic")
    throw new RangeError(
      `a sequence of ${batch.longest} tokens is longer than the model's ` +
        `${config.maximumPositions} positions; cut it, or use a model with a longer context`,
    );
  if (!Number.isInteger(layersPerSegment) || layersPerSegment < 0)
    throw new RangeError(
      `layersPerSegment: expected a whole number, 0 for no segments, got ${layersPerSegment}`,
    );
  return tidy(() => {
    const { cos, sin } = packedAngles(config, batch, model.device);
    const step = layersPerSegment || config.layers;
    const generators = dropout ? [dropout] : [];
    // The output layer's gradient is dense, and as large as the vocabulary: one such is enough.
    const sparseGradient = config.tiedEmbeddings && config.head === "causal-lm";
    let x = parameters.get("model.embed_tokens.weight")!.embedding(batch.ids, { sparseGradient });
    for (let first = 0; first < config.layers; first += step) {
      const segment = (input: Tensor, cos: Tensor, sin: Tensor, lengths: Tensor): Tensor =>
        layersFrom(model, first, step, input, { cos, sin }, lengths, dropout);
      // All are inputs, not only x: a checkpoint keeps its inputs until it computes again.
      const inputs = [x, cos, sin, batch.cumulativeLengths] as const;
      const y = layersPerSegment ? checkpoint(segment, inputs, { generators }) : segment(...inputs);
      x.dispose();
      x = y;
    }
    return rmsNorm(x, parameters.get("model.norm.weight")!, config.normEpsilon);
  });
}

/** Some layers, one after the other. What is between them lives on only in autograd's graph. */
function layersFrom(
  model: Model,
  first: number,
  count: number,
  input: Tensor,
  angles: RotaryAngles,
  cumulativeLengths: Tensor,
  dropout: Generator | null,
): Tensor {
  let x = input;
  for (let i = first; i < Math.min(first + count, model.config.layers); i++) {
    const y = tidy(() => decoderLayer(model, i, x, angles, cumulativeLengths, dropout));
    if (x !== input) x.dispose();
    x = y;
  }
  return x;
}

/** One layer: x [tokens, hiddenSize] to the same. */
function decoderLayer(
  model: Model,
  index: number,
  x: Tensor,
  angles: RotaryAngles,
  cumulativeLengths: Tensor,
  dropout: Generator | null,
): Tensor {
  const { queries, keys, values } = project(model, index, x, angles, dropout);
  const window = model.config.slidingWindows[index];
  const seen = attention(queries, keys, values, cumulativeLengths, window ? { window } : {});
  const y = attentionOutput(model, index, x, seen, dropout);
  return feedForward(model, index, y, dropout);
}

/** x through one of a layer's matrices, with its bias and what an adapter adds, added to `residual`. */
function through(
  model: Model,
  index: number,
  matrix: string,
  x: Tensor,
  dropout: Generator | null,
  residual: Tensor | null = null,
): Tensor {
  const weight = model.layer(index, `${matrix}.weight`)!;
  const bias = model.layer(index, `${matrix}.bias`);
  if (!model.adapter) return linear(x, weight, { bias, residual });
  const adapted = model.adapter.add(index, matrix, x, linear(x, weight, { bias }), dropout);
  return residual ? residual.add(adapted) : adapted;
}

/** Queries [tokens, heads, size], keys and values [tokens, keyValueHeads, size], rotated. */
export function project(
  model: Model,
  index: number,
  x: Tensor,
  { cos, sin }: RotaryAngles,
  dropout: Generator | null = null,
): { queries: Tensor; keys: Tensor; values: Tensor } {
  const { config } = model;
  const { heads, keyValueHeads, headDimension, normEpsilon } = config;
  const weight = (name: string) => model.layer(index, name);
  const normed = rmsNorm(x, weight("input_layernorm.weight")!, normEpsilon);
  const joined = through(model, index, "self_attn.qkv_proj", normed, dropout).view([
    -1,
    heads + 2 * keyValueHeads,
    headDimension,
  ]);
  if (!config.queryKeyNorm) {
    // q and k turn together.
    const [turning, values] = joined.split([heads + keyValueHeads, keyValueHeads], 1);
    const [queries, keys] = rotary(turning!, cos, sin).split([heads, keyValueHeads], 1);
    return { queries: queries!, keys: keys!, values: values! };
  }
  const [queries, keys, values] = joined.split([heads, keyValueHeads, keyValueHeads], 1);
  const turned = (part: Tensor, norm: string) =>
    rotary(rmsNorm(part, weight(`self_attn.${norm}.weight`)!, normEpsilon), cos, sin);
  return { queries: turned(queries!, "q_norm"), keys: turned(keys!, "k_norm"), values: values! };
}

/** x + o of what the heads saw [tokens, heads, size]. */
export function attentionOutput(
  model: Model,
  index: number,
  x: Tensor,
  seen: Tensor,
  dropout: Generator | null = null,
): Tensor {
  const { heads, headDimension } = model.config;
  const joined = seen.reshape([-1, heads * headDimension]);
  return through(model, index, "self_attn.o_proj", joined, dropout, x);
}

/** x + down(silu(gate) · up) of norm(x). */
export function feedForward(
  model: Model,
  index: number,
  x: Tensor,
  dropout: Generator | null = null,
): Tensor {
  const epsilon = model.config.normEpsilon;
  const weight = (name: string) => model.layer(index, name);
  const norm = weight("post_attention_layernorm.weight")!;
  if (!model.adapter && !weight("mlp.gate_up_proj.bias") && !weight("mlp.down_proj.bias")) {
    const [gateUp, down] = [weight("mlp.gate_up_proj.weight")!, weight("mlp.down_proj.weight")!];
    return feedForwardBlock(x, { norm, gateUp, down }, epsilon);
  }
  const normed = rmsNorm(x, norm, epsilon);
  const gateUp = through(model, index, "mlp.gate_up_proj", normed, dropout);
  return through(model, index, "mlp.down_proj", swigluJoined(gateUp), dropout, x);
}
