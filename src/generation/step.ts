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

export interface RotaryTable {
  cos: Tensor;
  sin: Tensor;
  dispose(): void;
}

/** Angles of all positions, once. */
export function rotaryTable(model: Model): RotaryTable {
  const length = model.config.maximumPositions;
  const { cos, sin } = keep(
    tidy(() => ({ ...rotaryAngles(model.config, arange(0, length), length, model.device) })),
  );
  return { cos, sin, dispose: () => dispose([cos, sin]) };
}

/**
 * Computes the new tokens of all sequences into the cache. Returns the logits after each sequence's
 * last new token, [wanted, vocabulary], of those that `wanted` names (indices into `work`), or null if
 * it names none.
 */
export function forwardStep(
  model: Model,
  cache: CacheStore,
  table: RotaryTable,
  work: readonly Work[],
  wanted: readonly number[],
): Tensor | null {
  const pass = hasNativePass(model) ? nativePass : operatorPass;
  const logits = noGrad(() => tidy(() => pass(model, cache, table, layoutOf(work, wanted))));
  for (const { sequence, tokens } of work) sequence.markComputed(sequence.computed + tokens);
  if (wanted.length > 0) return logits;
  logits.dispose();
  return null;
}
