/**
 * @file Sampling options checked and filled in, and the arrays that the native sampler takes.
 */
import { fromTypedArray, invoke, openmanus, type Tensor, tidy } from "../torch/index.ts";
import type { SampledToken, SamplingOptions } from "./request.ts";

const sample = openmanus("sample");
/** The same draws, of logits that are not on the CPU. */
const sampleElsewhere = openmanus("sample_elsewhere");

export type FilledSampling = Required<Omit<SamplingOptions, "choices" | "bias" | "constraint">> &
  Pick<SamplingOptions, "choices" | "bias" | "constraint">;

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
  const check = (name: keyof FilledSampling, holds: boolean, expected: string) => {
    if (!holds)
      throw new RangeError(`sampling: ${name} must be ${expected}, got ${String(filled[name])}`);
  };
  const finite = Number.isFinite;
  check("temperature", finite(filled.temperature) && filled.temperature >= 0, "0 or more");
  check("topK", Number.isInteger(filled.topK) && filled.topK >= 0, "a whole number, 0 or more");
  check("topP", filled.topP > 0 && filled.topP <= 1, "above 0 and at most 1");
  check("minP", filled.minP >= 0 && filled.minP <= 1, "from 0 to 1");
  check(
    "repetitionPenalty",
    finite(filled.repetitionPenalty) && filled.repetitionPenalty > 0,
    "above 0",
  );
  check(
    "maximumTokens",
    Number.isInteger(filled.maximumTokens) && filled.maximumTokens >= 1,
    "a whole number, 1 or more",
  );
  check(
    "minimumTokens",
    Number.isInteger(filled.minimumTokens) && filled.minimumTokens >= 0,
    "a whole number, 0 or more",
  );
  const known = (id: number) => Number.isInteger(id) && id >= 0 && id < vocabularySize;
  check("stopTokens", filled.stopTokens.every(known), `ids below ${vocabularySize}`);
  check("bias", [...(filled.bias?.keys() ?? [])].every(known), `of ids below ${vocabularySize}`);
  // -Infinity forbids a token.
  const addable = (bias: number) => bias < Number.POSITIVE_INFINITY;
  check("bias", [...(filled.bias?.values() ?? [])].every(addable), "numbers or -Infinity");
  check(
    "stopStrings",
    filled.stopStrings.every((text) => text.length > 0),
    "not empty",
  );
  check(
    "choices",
    filled.choices === undefined || filled.choices.length > 0,
    "a list with at least one string",
  );
  check("constraint", !(filled.constraint && filled.choices), "absent where there are choices");
  return filled;
}

/** One row of the sampler's input. */
export interface SamplerRow {
  sampling: FilledSampling;
  /** 64 bits, the only randomness of the row. */
  seed: bigint;
  /** Tokens whose logits the repetition penalty lowers. */
  repeated: Iterable<number>;
  /** Tokens that cannot be drawn now. */
  forbidden: readonly number[];
  /** If given, only these can be drawn. */
  allowed: readonly number[] | null;
}

/** Lists of different lengths, one per row; most of them have nothing in any. */
class Ragged {
  readonly #offsets: Int32Array;
  readonly #ids: number[] = [];
  #rows = 0;

  constructor(rows: number) {
    this.#offsets = new Int32Array(rows + 1);
  }

  add(id: number): void {
    this.#ids.push(id);
  }

  endRow(): void {
    this.#offsets[++this.#rows] = this.#ids.length;
  }

  tensors(): [Tensor, Tensor] {
    return [fromTypedArray(this.#offsets), fromTypedArray(Int32Array.from(this.#ids))];
  }
}

/** What the native sampler gives instead of an id. */
const PROBLEMS = new Map([
  [-1, "the model's logits are not finite: are there NaN or infinite weights?"],
  [-2, "biases and constraints leave no token to draw, or one that is infinitely likely"],
]);

/**
 * Draws the next token of every row of logits [rows, vocabulary]. A row that cannot be drawn from gets
 * an error of its own.
 */
export function drawTokens(logits: Tensor, rows: readonly SamplerRow[]): (SampledToken | Error)[] {
  const repeated = new Ragged(rows.length);
  const biased = new Ragged(rows.length);
  const allowed = new Ragged(rows.length);
  const biases: number[] = [];
  const settings = new Float64Array(rows.length * 5);
  const seeds = new BigInt64Array(rows.length);
  for (const [i, row] of rows.entries()) {
    const { temperature, topK, topP, minP, repetitionPenalty, bias } = row.sampling;
    settings.set([temperature, topK, topP, minP, repetitionPenalty], i * 5);
    seeds[i] = row.seed;
    if (repetitionPenalty !== 1) for (const id of new Set(row.repeated)) repeated.add(id);
    for (const [id, value] of bias ?? []) {
      biased.add(id);
      biases.push(value);
    }
    for (const id of row.forbidden) {
      biased.add(id);
      biases.push(Number.NEGATIVE_INFINITY);
    }
    for (const id of row.allowed ?? []) allowed.add(id);
    for (const lists of [repeated, biased, allowed]) lists.endRow();
  }
  const drawn = tidy(() =>
    invoke(
      logits.device === "cpu" ? sample : sampleElsewhere,
      logits.to("float32").handle,
      fromTypedArray(seeds).handle,
      fromTypedArray(settings, [rows.length, 5]).handle,
      ...repeated.tensors().map(({ handle }) => handle),
      ...biased.tensors().map(({ handle }) => handle),
      fromTypedArray(Float64Array.from(biases)).handle,
      ...allowed.tensors().map(({ handle }) => handle),
    ).toNumbers(),
  );
  return rows.map((_, i) => {
    const id = drawn[i * 3]!;
    if (id < 0) return new Error(`generate: ${PROBLEMS.get(id)}`);
    return { id, logprob: drawn[i * 3 + 1]!, sampledLogprob: drawn[i * 3 + 2]! };
  });
}

/**
 * The seed of one draw of one request: a hash of the request's seed and the draw's number, so that
 * neither the batch nor an interruption changes it (splitmix64's finaliser).
 */
export function drawSeed(seed: bigint, draw: number): bigint {
  const mask = 0xffff_ffff_ffff_ffffn;
  let z = (seed + BigInt(draw + 1) * 0x9e37_79b9_7f4a_7c15n) & mask;
  z = ((z ^ (z >> 30n)) * 0xbf58_476d_1ce4_e5b9n) & mask;
  z = ((z ^ (z >> 27n)) * 0x94d0_49bb_1331_11ebn) & mask;
  return z ^ (z >> 31n);
}

/** A number in [0, 1) from the same hash. */
export function uniformFor(seed: bigint, draw: number): number {
  return Number(drawSeed(seed, draw) >> 11n) / 2 ** 53;
}
