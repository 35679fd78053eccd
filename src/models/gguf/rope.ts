/**
 * @file Rotary frequencies in GGUF: plain, divided by a factor, stretched (yarn), or with a divisor for each
 * (rope_freqs.weight), which is how llama.cpp has Llama 3's. transformers wants the numbers that those
 * divisors were computed from: they are found by computing them again.
 */
import type { Fields } from "../config/fields.ts";
import { show } from "../config/fields.ts";
import type { Llama3Rope, RopeConfig } from "../config/model-config.ts";

/** By which llama.cpp divides each frequency of Llama 3's kind. */
export function llama3Divisors(rope: Llama3Rope, headDimension: number): Float32Array {
  const { theta, factor, lowFrequencyFactor: low, highFrequencyFactor: high } = rope;
  const original = rope.originalMaximumPositions;
  return Float32Array.from({ length: headDimension / 2 }, (_, i) => {
    const wavelength = 2 * Math.PI * theta ** ((2 * i) / headDimension);
    if (wavelength < original / high) return 1;
    if (wavelength > original / low) return factor;
    const smooth = (original / wavelength - low) / (high - low);
    return 1 / ((1 - smooth) / factor + smooth);
  });
}

/** Lengths that models were first trained with; low and high frequency factors are 1 and 4 in all of them. */
const ORIGINAL_LENGTHS = [8192, 4096, 2048, 16_384, 32_768, 65_536, 131_072];
/** Between divisors that are meant to be the same. */
const TOLERANCE = 1e-3;

/** The kind of rope that has these divisors; undefined where none is known. */
export function ropeOfDivisors(
  divisors: Float64Array,
  theta: number,
  headDimension: number,
): RopeConfig | undefined {
  if (divisors.every((value) => value === 1)) return { kind: "default", theta };
  const factor = divisors.reduce((most, value) => Math.max(most, value), 1);
  for (const originalMaximumPositions of ORIGINAL_LENGTHS) {
    const rope: Llama3Rope = {
      ...{ kind: "llama3", theta, factor, lowFrequencyFactor: 1, highFrequencyFactor: 4 },
      originalMaximumPositions,
    };
    const expected = llama3Divisors(rope, headDimension);
    const isSame = (value: number, i: number): boolean =>
      Math.abs(value - expected[i]!) <= TOLERANCE * expected[i]!;
    if (divisors.length === expected.length && divisors.every(isSame)) return rope;
  }
  return undefined;
}

/** What the metadata says: `rope.freq_base` and `rope.scaling.…`. */
export function ropeIn(fields: Fields, prefix: string, context: number): RopeConfig {
  const key = (name: string): string => `${prefix}.rope.${name}`;
  const theta = fields.number(key("freq_base"), 10_000);
  // An older way to say "linear".
  const older = fields.has(key("scale_linear")) ? fields.number(key("scale_linear")) : 1;
  const kind = fields.string(key("scaling.type"), older === 1 ? "none" : "linear");
  if (kind === "none") return { kind: "default", theta };
  const factor = fields.number(key("scaling.factor"), older);
  if (kind === "linear") return { kind, theta, factor };
  if (kind !== "yarn")
    fields.fail(key("scaling.type"), `is ${show(kind)}; expected none, linear or yarn`);
  for (const name of ["yarn_log_multiplier", "yarn_ext_factor", "attn_factor"])
    if (fields.has(key(`scaling.${name}`)))
      fields.fail(key(`scaling.${name}`), "is not supported; take the model from its publisher");
  const optional = (name: string, otherwise: number): number =>
    fields.number(key(`scaling.${name}`), otherwise);
  return {
    kind: "yarn",
    theta,
    factor,
    originalMaximumPositions: fields.integer(key("scaling.original_context_length"), context),
    attentionFactor: null,
    betaFast: optional("yarn_beta_fast", 32),
    betaSlow: optional("yarn_beta_slow", 1),
    mscale: null,
    mscaleAllDimensions: null,
    truncate: true,
  };
}
