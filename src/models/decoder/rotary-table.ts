/**
 * @file The cosines and sines of the rotary embedding, for the positions of a batch.
 */
import { cat, type Device, fromTypedArray, type Tensor, tidy } from "../../torch/index.ts";
import { inverseFrequencies } from "../config/frequencies.ts";
import type { ModelConfig, RopeConfig } from "../config/model-config.ts";
import type { PackedSequences } from "./packed.ts";

/** Of all tokens, for each rope that the model has (ropesOf). */
export interface RotaryAngles {
  /** float32 [ropes, tokens, headDimension / 2] */
  cos: Tensor;
  sin: Tensor;
}

/** A model's rotary embeddings: one, or that of layers with a window besides. */
function ropesOf(config: ModelConfig): readonly RopeConfig[] {
  return config.localRope ? [config.rope, config.localRope] : [config.rope];
}

/** Whether angles depend on how long the whole sequence is: then no beginning is like another's. */
export function hasDynamicRope(config: ModelConfig): boolean {
  return ropesOf(config).some(({ kind }) => kind === "dynamic");
}

/** Which of the ropes a layer turns by; null: it does not turn. */
export function ropeOfLayer(config: ModelConfig, layer: number): number | null {
  if (config.withoutRope.includes(layer)) return null;
  return config.localRope && config.slidingWindows[layer] ? 1 : 0;
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
  return tidy(() => stacked(ropesOf(config).map((rope) => anglesOf({ ...config, rope }))));

  function anglesOf(own: ModelConfig): RotaryAngles {
    const { inverseFrequencies: values, attentionScaling } = inverseFrequencies(own, longest);
    const frequencies = fromTypedArray(Float32Array.from(values), undefined, { device });
    const angles = positions.to("float32").unsqueeze(1).mul(frequencies.unsqueeze(0));
    const [cos, sin] = [angles.cos(), angles.sin()].map((each) => each.unsqueeze(0));
    return attentionScaling === 1
      ? { cos: cos!, sin: sin! }
      : { cos: cos!.mul(attentionScaling), sin: sin!.mul(attentionScaling) };
  }
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
  if (!hasDynamicRope(config) || batch.longest <= config.maximumPositions)
    return rotaryAngles(config, batch.positions, batch.longest, device);
  if (batch.parents)
    throw new RangeError(
      "with dynamic rope the angles of a token depend on how long its sequence is; pack sequences " +
        "that are longer than the model's positions without sharePrefixes",
    );
  return tidy(() => {
    const own = batch.positions
      .split(batch.lengths)
      .map((positions, i) => rotaryAngles(config, positions, batch.lengths[i]!, device));
    return stacked(own, 1);
  });
}

function stacked(parts: readonly RotaryAngles[], dimension = 0): RotaryAngles {
  if (parts.length === 1) return parts[0]!;
  return {
    cos: cat(
      parts.map(({ cos }) => cos),
      dimension,
    ),
    sin: cat(
      parts.map(({ sin }) => sin),
      dimension,
    ),
  };
}
