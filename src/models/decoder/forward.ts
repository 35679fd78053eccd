/**
 * @file The forward pass over packed sequences: token ids to hidden states, for training.
 *
 *   x ← x + o(attention(rotary(norm(q, k)), v))      of norm(x)
 *   x ← x + down(silu(gate) · up)                    of norm(x)
 *
 * One implementation for all families; their differences are in the configuration (Gemma 3's in
 * norms.ts and its gates, below).
 */
import {
  attention,
  checkpoint,
  feedForward as feedForwardBlock,
  type Generator,
  linear,
  rotary,
  swigluJoined,
  type Tensor,
  tensor,
  tidy,
} from "../../torch/index.ts";
import type { Model } from "./model.ts";
import { normalised, normsOfLayer } from "./norms.ts";
import type { PackedSequences } from "./packed.ts";
import { packedAngles, type RotaryAngles, ropeOfLayer } from "./rotary-table.ts";

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
    // Sharded layers come and go one by one, and so are segments of their own.
    const { units } = model;
    const step = units ? 1 : layersPerSegment || config.layers;
    const generators = dropout ? [dropout] : [];
    // The output layer's gradient is dense, and as large as the vocabulary: one such is enough. Not every device
    // has sparse ones, and a device would be waited for to count them.
    const sparseGradient =
      config.tiedEmbeddings && config.head === "causal-lm" && model.device === "cpu";
    let x = embedded(model, batch.ids, { sparseGradient });
    for (let first = 0; first < config.layers; first += step) {
      const segment = (...[input, cos, sin, ...runs]: Tensor[]): Tensor =>
        layersFrom(model, first, step, input!, { cos: cos!, sin: sin! }, runs, dropout);
      // All are inputs, not only x: a checkpoint keeps its inputs until it computes again.
      const { cumulativeLengths, parents } = batch;
      const inputs = [x, cos, sin, cumulativeLengths, ...(parents ? [parents] : [])];
      const hold = units?.hold(first);
      const y =
        units || layersPerSegment
          ? checkpoint(segment, inputs, { generators, ...(hold && { hold }) })
          : segment(...inputs);
      x.dispose();
      x = y;
    }
    return normalised(config, x, parameters.get("model.norm.weight")!);
  });
}

/** The tokens' embeddings [tokens, hiddenSize], as the first layer gets them. */
export function embedded(
  { config, parameters }: Model,
  ids: Tensor,
  options: { sparseGradient?: boolean } = {},
): Tensor {
  const weight = parameters.get("model.embed_tokens.weight")!;
  if (!config.scaledEmbeddings) return weight.embedding(ids, options);
  return tidy(() => weight.embedding(ids, options).mul(embeddingScale({ config, parameters })));
}

/** What embeddings are multiplied by: rounded to their dtype before the product, as transformers does. */
export function embeddingScale({
  config,
  parameters,
}: Pick<Model, "config" | "parameters">): number {
  if (!config.scaledEmbeddings) return 1;
  const { dtype } = parameters.get("model.embed_tokens.weight")!;
  return tidy(() =>
    tensor(Math.sqrt(config.hiddenSize), { dtype: "float32" }).to(dtype).to("float64").item(),
  );
}

/** Which tokens see which: where runs of them begin and, if some go on from others, from which. */
type RunTensors = readonly Tensor[];

/** Some layers, one after the other. What is between them lives on only in autograd's graph. */
function layersFrom(
  model: Model,
  first: number,
  count: number,
  input: Tensor,
  angles: RotaryAngles,
  runs: RunTensors,
  dropout: Generator | null,
): Tensor {
  let x = input;
  for (let i = first; i < Math.min(first + count, model.config.layers); i++) {
    const y = tidy(() => decoderLayer(model, i, x, angles, runs, dropout));
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
  runs: RunTensors,
  dropout: Generator | null,
): Tensor {
  const { queries, keys, values } = project(model, index, x, angles, dropout);
  const { slidingWindows, attentionScalar: scalar } = model.config;
  const window = slidingWindows[index];
  const [cumulativeLengths, parents] = runs;
  const seen = attention(queries, keys, values, cumulativeLengths!, {
    ...(window && { window }),
    ...(scalar && { scale: 1 / Math.sqrt(scalar) }),
    ...(parents && { parents }),
  });
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
  angles: RotaryAngles,
  dropout: Generator | null = null,
): { queries: Tensor; keys: Tensor; values: Tensor } {
  const { config } = model;
  const { heads, keyValueHeads, headDimension } = config;
  const weight = (name: string) => model.layer(index, name);
  const rope = ropeOfLayer(config, index);
  const turned = (part: Tensor): Tensor =>
    rope === null ? part : rotary(part, angles.cos.select(0, rope), angles.sin.select(0, rope));
  const normed = normalised(config, x, weight("input_layernorm.weight")!);
  const joined = through(model, index, "self_attn.qkv_proj", normed, dropout).view([
    -1,
    heads + 2 * keyValueHeads,
    headDimension,
  ]);
  if (!config.queryKeyNorm) {
    // q and k turn together.
    const [turning, values] = joined.split([heads + keyValueHeads, keyValueHeads], 1);
    const [queries, keys] = turned(turning!).split([heads, keyValueHeads], 1);
    return { queries: queries!, keys: keys!, values: values! };
  }
  const [queries, keys, values] = joined.split([heads, keyValueHeads, keyValueHeads], 1);
  const ready = (part: Tensor, norm: string): Tensor =>
    turned(normalised(config, part, weight(`self_attn.${norm}.weight`)!));
  return { queries: ready(queries!, "q_norm"), keys: ready(keys!, "k_norm"), values: values! };
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
  return added(model, index, "self_attn.o_proj", joined, x, dropout);
}

/** x + what a matrix makes of `inner`, normalised first where the family does. */
function added(
  model: Model,
  index: number,
  matrix: "self_attn.o_proj" | "mlp.down_proj",
  inner: Tensor,
  x: Tensor,
  dropout: Generator | null,
): Tensor {
  const norms = normsOfLayer(model, index);
  const norm = matrix === "mlp.down_proj" ? norms.afterFeedForward : norms.afterAttention;
  if (!norm) return through(model, index, matrix, inner, dropout, x);
  return x.add(normalised(model.config, through(model, index, matrix, inner, dropout), norm));
}

/** x + down(silu(gate) · up) of norm(x), or with another activation. */
export function feedForward(
  model: Model,
  index: number,
  x: Tensor,
  dropout: Generator | null = null,
): Tensor {
  const { config } = model;
  const weight = (name: string) => model.layer(index, name);
  const norm = normsOfLayer(model, index).beforeFeedForward;
  const isPlain = config.activation === "silu" && !config.normsAddOne && !config.outputNorms;
  const isBiased = weight("mlp.gate_up_proj.bias") || weight("mlp.down_proj.bias");
  if (isPlain && !model.adapter && !isBiased) {
    const [gateUp, down] = [weight("mlp.gate_up_proj.weight")!, weight("mlp.down_proj.weight")!];
    return feedForwardBlock(x, { norm, gateUp, down }, config.normEpsilon);
  }
  const normed = normalised(config, x, norm);
  const gateUp = through(model, index, "mlp.gate_up_proj", normed, dropout);
  const gated = config.activation === "silu" ? swigluJoined(gateUp) : gegluJoined(gateUp);
  return added(model, index, "mlp.down_proj", gated, x, dropout);
}

/** gelu(gate) · up by its tanh, of one tensor whose last dimension is gate and up. */
function gegluJoined(gateUp: Tensor): Tensor {
  const [gate, up] = gateUp.chunk(2, -1);
  return gate!.gelu("tanh").mul(up!);
}
