/**
 * @file One forward pass of the generation engine: the new tokens of many sequences at once, the
 * earlier ones from the cache.
 */
import { type Model, rotaryAngles } from "../models/index.ts";
import { arange, dispose, keep, noGrad, type Tensor, tidy } from "../torch/index.ts";
import type { CacheStore } from "./cache/store.ts";
import { layoutOf, type Work } from "./layout.ts";
import { hasNativePass, nativePass } from "./native-pass.ts";
import { operatorPass } from "./operator-pass.ts";
import type { PassWeights } from "./short-weights.ts";

export interface RotaryTable {
  /** [ropes, positions, headDimension / 2] */
  cos: Tensor;
  sin: Tensor;
  dispose(): void;
}

/** Angles of all positions, once. */
export function rotaryTable(model: Model): RotaryTable {
  const length = model.config.maximumPositions;
  const positions = (count: number) => arange(0, count, 1, { device: model.device });
  const { cos, sin } = keep(
    tidy(() => ({ ...rotaryAngles(model.config, positions(length), length, model.device) })),
  );
  return { cos, sin, dispose: () => dispose([cos, sin]) };
}

/**
 * Computes the new tokens of all sequences into the cache, and the guesses behind them, which do not
 * count as computed until they are found to be true. Returns the logits after the last new token, and
 * after each guess, of those that `wanted` names (indices into `work`), [rows, vocabulary], or null if it
 * names none. `short`: a copy of the weights in fewer bytes, to compute with instead.
 */
export function forwardStep(
  model: Model,
  cache: CacheStore,
  table: RotaryTable,
  work: readonly Work[],
  wanted: readonly number[],
  short?: PassWeights,
): Tensor | null {
  const layout = layoutOf(work, wanted);
  const logits = noGrad(() =>
    tidy(() =>
      hasNativePass(model)
        ? nativePass(model, cache, table, layout, short)
        : operatorPass(model, cache, table, layout),
    ),
  );
  for (const { sequence, tokens } of work) sequence.markComputed(sequence.computed + tokens);
  if (wanted.length > 0) return logits;
  logits.dispose();
  return null;
}
