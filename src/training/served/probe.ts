/**
 * @file The probe: a fixed text of tokens from all over the vocabulary, and what our own weights say of it.
 */
import { seededRandom } from "../../environments/index.ts";
import type { Probe } from "../../generation/index.ts";
import { type Model, packSequences, tokenOutputs } from "../../models/index.ts";
import { fromTypedArray, noGrad, tidy } from "../../torch/index.ts";

/** Long enough that every weight of every layer has its say, and short enough for every sync. */
const TOKENS = 64;

export function probeIds({ vocabularySize, maximumPositions }: Model["config"]): number[] {
  const random = seededRandom("probe of weights", vocabularySize);
  // A server makes one token more.
  const length = Math.max(2, Math.min(TOKENS, maximumPositions - 2));
  return Array.from({ length }, () => random.integer(vocabularySize));
}

/** What a server with the model's weights says. The model must be whole. */
export function probeOf(model: Model, tolerance: number): Probe {
  const ids = probeIds(model.config);
  return { ids, logprobs: textLogprobs(model, ids), tolerance };
}

/** [ids - 1] log p of every token but the first. */
export function textLogprobs(model: Model, ids: readonly number[]): number[] {
  const { device } = model;
  return tidy(() =>
    noGrad(() => {
      const packed = packSequences([Int32Array.from(ids)], { device, sharePrefixes: false });
      const count = ids.length - 1;
      const places = BigInt64Array.from({ length: count }, (_, i) => BigInt(i));
      const targets = BigInt64Array.from({ length: count }, (_, i) => BigInt(ids[i + 1]!));
      const { logprobs } = tokenOutputs(
        model,
        packed,
        fromTypedArray(places, undefined, { device }),
        fromTypedArray(targets, undefined, { device }),
        { entropy: false },
      );
      return [...logprobs.toNumbers()];
    }),
  );
}

/** What rounding does to the probe, by the coarser of the two sides. */
const ROUNDING = { float32: 1e-3, float16: 0.05, bfloat16: 0.3 } as const;

export function probeTolerance(...dtypes: readonly (keyof typeof ROUNDING)[]): number {
  return Math.max(...dtypes.map((dtype) => ROUNDING[dtype]));
}
