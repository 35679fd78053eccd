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
  rmsNorm,
  rotary,
  swiglu,
  type Tensor,
  tidy,
} from "../../torch/index.ts";
import type { Model } from "./model.ts";
import type { PackedSequences } from "./packed.ts";
import { type RotaryAngles, rotaryAngles } from "./rotary-table.ts";

export interface ForwardOptions {
  /**
   * Keep only what is between layers, and compute layers again in backward: so many layers are one
   * checkpointed segment. 0 (the default) keeps everything.
   */
  layersPerSegment?: number;
}

/** The last layer's normalised hidden states [tokens, hiddenSize]. */
export function hiddenStates(
  model: Model,
  batch: PackedSequences,
  options: ForwardOptions = {},
): Tensor {
  const { config, parameters } = model;
  if (batch.longest > config.maximumPositions && config.rope.kind !== "dynamic")
    throw new RangeError(
      `a sequence of ${batch.longest} tokens is longer than the model's ${config.maximumPositions} positions`,
    );
  return tidy(() => {
    const angles = rotaryAngles(config, batch.positions, batch.longest, model.device);
    let x = parameters.get("model.embed_tokens.weight")!.embedding(batch.ids);
    const step = options.layersPerSegment || config.layers;
    for (let first = 0; first < config.layers; first += step) {
      const run = (input: Tensor): Tensor => {
        let y = input;
        for (let i = first; i < Math.min(first + step, config.layers); i++)
          y = decoderLayer(model, i, y, angles, batch.cumulativeLengths);
        return y;
      };
      x = options.layersPerSegment ? checkpoint(run, [x]) : run(x);
    }
    return rmsNorm(x, parameters.get("model.norm.weight")!, config.normEpsilon);
  });
}

/** One layer: x [tokens, hiddenSize] to the same. */
function decoderLayer(
  model: Model,
  index: number,
  x: Tensor,
  angles: RotaryAngles,
  cumulativeLengths: Tensor,
): Tensor {
  const { config } = model;
  const weight = (name: string) => model.layer(index, name);
  const { queries, keys, values } = project(model, index, x, angles);
  const window = config.slidingWindows[index];
  const seen = attention(queries, keys, values, cumulativeLengths, window ? { window } : {});
  const y = x.add(
    seen
      .reshape([-1, config.heads * config.headDimension])
      .linear(weight("self_attn.o_proj.weight")!, weight("self_attn.o_proj.bias")),
  );
  return y.add(feedForward(model, index, y));
}

/** Queries [tokens, heads, size], keys and values [tokens, keyValueHeads, size], rotated. */
export function project(
  model: Model,
  index: number,
  x: Tensor,
  { cos, sin }: RotaryAngles,
): { queries: Tensor; keys: Tensor; values: Tensor } {
  const { config } = model;
  const { heads, keyValueHeads, headDimension, normEpsilon } = config;
  const weight = (name: string) => model.layer(index, name);
  const joined = rmsNorm(x, weight("input_layernorm.weight")!, normEpsilon)
    .linear(weight("self_attn.qkv_proj.weight")!, weight("self_attn.qkv_proj.bias"))
    .view([-1, heads + 2 * keyValueHeads, headDimension]);
  if (!config.queryKeyNorm) {
    // q and k turn together.
    const [turning, values] = joined.split([heads + keyValueHeads, keyValueHeads], 1);
    const [queries, keys] = rotary(turning!, cos, sin).split([heads, keyValueHeads], 1);
    return { queries: queries!, keys: keys!, values: values! };
  }
  const [queries, keys, values] = joined.split([heads, keyValueHeads, keyValueHeads], 1);
  const normed = (part: Tensor, name: string) =>
    rotary(rmsNorm(part, weight(`self_attn.${name}.weight`)!, normEpsilon), cos, sin);
  return { queries: normed(queries!, "q_norm"), keys: normed(keys!, "k_norm"), values: values! };
}

/** down(silu(gate) · up) of norm(x). */
export function feedForward(model: Model, index: number, x: Tensor): Tensor {
  const { intermediateSize, normEpsilon } = model.config;
  const weight = (name: string) => model.layer(index, name)!;
  const [gate, up] = rmsNorm(x, weight("post_attention_layernorm.weight"), normEpsilon)
    .linear(weight("mlp.gate_up_proj.weight"))
    .split([intermediateSize, intermediateSize], 1);
  return swiglu(gate!, up!).linear(weight("mlp.down_proj.weight"));
}
