/**
 * @file The cosines and sines of the rotary embedding, for the positions of a batch.
 */
import { cat, type Device, fromTypedArray, type Tensor, tidy } from "../../torch/index.ts";
import { inverseFrequencies } from "../config/frequencies.ts";
import type { ModelConfig } from "../config/model-config.ts";
import type { PackedSequences } from "./packed.ts";

export interface RotaryAngles {
  /** float32 [tokens, headDimension / 2] */
  cos: Tensor;
  sin: Tensor;
}

/**
 * Angles for positions (int64 [tokens]) of sequences of at most a given length. They are computed as
 * transformers does, in float32: position times frequency, then cosine and sine.
 */
export function rotaryAngles(
  config: ModelConfig,
  positions: Tensor,
  longest: number,
  device: Device = "cpu",
): RotaryAngles {
  const { inverseFrequencies: values, attentionScaling } = inverseFrequencies(config, longest);
  return tidy(() => {
    const frequencies = fromTypedArray(Float32Array.from(values), undefined, { device });
    const angles = positions.to("float32").unsqueeze(1).mul(frequencies.unsqueeze(0));
    const [cos, sin] = [angles.cos(), angles.sin()];
    return attentionScaling === 1
      ? { cos, sin }
      : { cos: cos.mul(attentionScaling), sin: sin.mul(attentionScaling) };
  });
}

/**
 * Angles of a packed batch. Dynamic frequencies depend on a sequence's own length: a longer neighbour
 * in the batch must not change them.
 */
export function packedAngles(
  config: ModelConfig,
  batch: PackedSequences,
  device: Device = "cpu",
): RotaryAngles {
  if (config.rope.kind !== "dynamic" || batch.longest <= config.maximumPositions)
    return rotaryAngles(config, batch.positions, batch.longest, device);
  return tidy(() => {
    const own = batch.positions
      .split(batch.lengths)
      .map((positions, i) => rotaryAngles(config, positions, batch.lengths[i]!, device));
    return { cos: cat(own.map(({ cos }) => cos)), sin: cat(own.map(({ sin }) => sin)) };
  });
}
