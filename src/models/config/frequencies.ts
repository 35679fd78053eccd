/**
 * @file The rotary embedding's frequencies, as transformers' modeling_rope_utils computes them.
 *
 * Position p turns the i-th pair of a head by the angle p × inverseFrequencies[i]. transformers
 * computes in float32, and at position 10,000 the last bit of a frequency is visible in the angle:
 * therefore every step here rounds to float32 where transformers' tensors do.
 */
import { arange, call, type Tensor, tidy } from "../../torch/index.ts";
import type { Llama3Rope, ModelConfig, YarnRope } from "./model-config.ts";

export interface RotaryFrequencies {
  /** headDimension / 2 values; each is exact in float32. */
  inverseFrequencies: Float64Array;
  /** cos and sin are multiplied by this (yarn; 1 otherwise). */
  attentionScaling: number;
}

const round = Math.fround;

/** How PyTorch divides a number by a float32 tensor: it multiplies by the reciprocal. */
const over = (number: number, divisor: number): number => round(round(1 / divisor) * round(number));

/**
 * Frequencies for a sequence of the given length. Only "dynamic" depends on the length, and only
 * beyond maximumPositions.
 */
export function inverseFrequencies(
  config: Pick<ModelConfig, "rope" | "headDimension" | "maximumPositions">,
  length: number,
): RotaryFrequencies {
  const { rope, headDimension: size, maximumPositions } = config;
  switch (rope.kind) {
    case "default":
      return { inverseFrequencies: inverse(rope.theta, size), attentionScaling: 1 };
    case "linear": {
      const scaled = inverse(rope.theta, size).map((value) => round(value / round(rope.factor)));
      return { inverseFrequencies: scaled, attentionScaling: 1 };
    }
    case "dynamic": {
      const base = dynamicBase(rope, size, Math.max(length, maximumPositions), maximumPositions);
      return { inverseFrequencies: inverse(base, size), attentionScaling: 1 };
    }
    case "llama3":
      return { inverseFrequencies: llama3(rope, size), attentionScaling: 1 };
    case "yarn":
      return { inverseFrequencies: yarn(rope, size), attentionScaling: yarnScaling(rope) };
  }
}

/** theta to the power of 2i / size, by libtorch's own float32 power, whose last bit is its own. */
function periods(theta: number, size: number): Float64Array {
  return tidy(() => {
    const exponents = arange(0, size, 2, { dtype: "float32" }).div(size);
    return (call("aten::pow.Scalar", [theta, exponents]) as Tensor).toNumbers();
  });
}

function inverse(theta: number, size: number): Float64Array {
  return periods(theta, size).map((period) => round(1 / period));
}

function dynamicBase(
  { theta, factor }: { theta: number; factor: number },
  size: number,
  length: number,
  maximumPositions: number,
): number {
  const stretch = (factor * length) / maximumPositions - (factor - 1);
  return theta * stretch ** (size / (size - 2));
}

function llama3(rope: Llama3Rope, size: number): Float64Array {
  const { factor, lowFrequencyFactor: low, highFrequencyFactor: high } = rope;
  const original = rope.originalMaximumPositions;
  return inverse(rope.theta, size).map((frequency) => {
    const wavelength = over(2 * Math.PI, frequency);
    if (wavelength > round(original / low)) return round(frequency / round(factor));
    if (wavelength < round(original / high)) return frequency;
    const smooth = round(round(over(original, wavelength) - round(low)) / round(high - low));
    const slow = round(round(round(1 - smooth) * frequency) / round(factor));
    return round(slow + round(smooth * frequency));
  });
}

function yarn(rope: YarnRope, size: number): Float64Array {
  const [low, high] = yarnRange(rope, size);
  const span = round(low === high ? 0.001 : high - low);
  return periods(rope.theta, size).map((period, i) => {
    const ramp = Math.min(Math.max(round(round(i - round(low)) / span), 0), 1);
    const kept = round(1 - ramp);
    const extrapolated = round(1 / period);
    const interpolated = round(1 / round(round(rope.factor) * period));
    return round(round(interpolated * round(1 - kept)) + round(extrapolated * kept));
  });
}

/** The dimensions between which frequencies go from kept to divided. */
function yarnRange(rope: YarnRope, size: number): [number, number] {
  const dimension = (rotations: number): number =>
    (size * Math.log(rope.originalMaximumPositions / (rotations * 2 * Math.PI))) /
    (2 * Math.log(rope.theta));
  let low = dimension(rope.betaFast);
  let high = dimension(rope.betaSlow);
  if (rope.truncate) {
    low = Math.floor(low);
    high = Math.ceil(high);
  }
  return [Math.max(low, 0), Math.min(high, size - 1)];
}

function yarnScaling({ factor, attentionFactor, mscale, mscaleAllDimensions }: YarnRope): number {
  if (attentionFactor !== null) return attentionFactor;
  const scale = (weight: number): number => (factor <= 1 ? 1 : 0.1 * weight * Math.log(factor) + 1);
  return mscale && mscaleAllDimensions ? scale(mscale) / scale(mscaleAllDimensions) : scale(1);
}
