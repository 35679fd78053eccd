/**
 * @file Sampling options checked and filled in, and the arrays that the native sampler takes.
 */
import { call, fromTypedArray, type Tensor, tidy } from "../torch/index.ts";
import type { SampledToken, SamplingOptions } from "./request.ts";

export type FilledSampling = Required<Omit<SamplingOptions, "choices" | "bias">> &
  Pick<SamplingOptions, "choices" | "bias">;

/** Fills in defaults; a value out of range is an error that names it. */
export function fillSampling(
  options: SamplingOptions,
  vocabularySize: number,
  stopTokens: readonly number[],
): FilledSampling {
  const filled: FilledSampling = {
    temperature: 1,
    topK: 0,
    topP: 1,
    minP: 0,
    repetitionPenalty: 1,
    minimumTokens: 0,
    stopTokens,
    stopStrings: [],
    ...options,
  };
  const require = (name: keyof FilledSampling, holds: boolean, expected: string) => {
    if (!holds)
      throw new RangeError(`sampling: ${name} must be ${expected}, got ${String(filled[name])}`);
  };
  const finite = Number.isFinite;
  require("temperature", finite(filled.temperature) && filled.temperature >= 0, "0 or more");
  require("topK", Number.isInteger(filled.topK) && filled.topK >= 0, "a whole number, 0 or more");
  require("topP", filled.topP > 0 && filled.topP <= 1, "above 0 and at most 1");
  require("minP", filled.minP >= 0 && filled.minP <= 1, "from 0 to 1");
  require("repetitionPenalty", finite(filled.repetitionPenalty) &&
    filled.repetitionPenalty > 0, "above 0");
  require("maximumTokens", Number.isInteger(filled.maximumTokens) &&
    filled.maximumTokens >= 1, "a whole number, 1 or more");
  require("minimumTokens", Number.isInteger(filled.minimumTokens) &&
    filled.minimumTokens >= 0, "a whole number, 0 or more");
  const known = (id: number) => Number.isInteger(id) && id >= 0 && id < vocabularySize;
  require("stopTokens", filled.stopTokens.every(known), `ids below ${vocabularySize}`);
  require("bias", [...(filled.bias?.keys() ?? [])].every(known), `of ids below ${vocabularySize}`);
  require("stopStrings", filled.stopStrings.every((text) => text.length > 0), "not empty");
  require("choices", filled.choices === undefined ||
    filled.choices.length > 0, "a list with at least one string");
  return filled;
}

/** One row of the sampler's input. */
export interface SamplerRow {
  sampling: FilledSampling;
  /** From 0 to 1, the only randomness of the row. */
  uniform: number;
  /** Tokens whose logits the repetition penalty lowers. */
  repeated: Iterable<number>;
  /** Tokens that cannot be drawn now. */
  forbidden: readonly number[];
  /** If given, only these can be drawn. */
  allowed: readonly number[] | null;
}

class Ragged {
  readonly offsets: bigint[] = [0n];
  readonly ids: bigint[] = [];

  endRow(ids: Iterable<number>): void {
    for (const id of ids) this.ids.push(BigInt(id));
    this.offsets.push(BigInt(this.ids.length));
  }

  tensors(): [Tensor, Tensor] {
    return [
      fromTypedArray(BigInt64Array.from(this.offsets)),
      fromTypedArray(BigInt64Array.from(this.ids)),
    ];
  }
}

/** Draws the next token of every row of logits [rows, vocabulary]. */
export function drawTokens(logits: Tensor, rows: readonly SamplerRow[]): SampledToken[] {
  return tidy(() => {
    const [repeated, biased, allowed] = [new Ragged(), new Ragged(), new Ragged()];
    const biases: number[] = [];
    const settings: number[] = [];
    for (const row of rows) {
      const { temperature, topK, topP, minP, repetitionPenalty, bias } = row.sampling;
      settings.push(temperature, topK, topP, minP, repetitionPenalty);
      repeated.endRow(repetitionPenalty === 1 ? [] : new Set(row.repeated));
      biased.endRow([...(bias?.keys() ?? []), ...row.forbidden]);
      biases.push(...(bias?.values() ?? []), ...row.forbidden.map(() => Number.NEGATIVE_INFINITY));
      allowed.endRow(row.allowed ?? []);
    }
    const table = fromTypedArray(Float64Array.from(settings), [rows.length, 5]);
    const [ids, logprobs, sampled] = call("openmanus::sample", [
      logits.to("float32"),
      fromTypedArray(Float64Array.from(rows, (row) => row.uniform)),
      table,
      ...repeated.tensors(),
      ...biased.tensors(),
      fromTypedArray(Float64Array.from(biases)),
      ...allowed.tensors(),
    ]) as [Tensor, Tensor, Tensor];
    const [idNumbers, values, sampledValues] = [ids, logprobs, sampled].map((t) => t.toNumbers());
    return rows.map((_, i) => ({
      id: idNumbers![i]!,
      logprob: values![i]!,
      sampledLogprob: sampledValues![i]!,
    }));
  });
}

/**
 * A number in [0, 1) for one draw of one request: a hash of the seed and the draw's number, so that
 * neither the batch nor an interruption changes it (splitmix64's finaliser).
 */
export function uniformFor(seed: bigint, draw: number): number {
  const mask = 0xffff_ffff_ffff_ffffn;
  let z = (seed + BigInt(draw + 1) * 0x9e37_79b9_7f4a_7c15n) & mask;
  z = ((z ^ (z >> 30n)) * 0xbf58_476d_1ce4_e5b9n) & mask;
  z = ((z ^ (z >> 27n)) * 0x94d0_49bb_1331_11ebn) & mask;
  z ^= z >> 31n;
  return Number(z >> 11n) / 2 ** 53;
}
