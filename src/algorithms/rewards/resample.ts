/**
 * @file PF-PPO: rows drawn again with weights by their score, so that rewards that can be trusted
 * (very good and very bad) are trained on more often.
 *
 *   pow:        |s|^p, p 2        max_min: 1 if s is the largest or smallest, else 0
 *   max_random: 0.4 if s is the largest, else 0.1
 *   weight = that + 1e-8; rows are drawn with replacement
 *
 * Drawn rows repeat: compute group statistics before, not after.
 *
 * Source: Zhang et al. 2024, arXiv:2409.06957; verl compute_pf_ppo_reweight_data.
 */
import { fromTypedArray, type Generator, multinomial, tidy } from "../../torch/index.ts";
import { checkPerRow, type Numbers } from "../rows.ts";

export type ResampleMethod = "pow" | "max_min" | "max_random";

/** [rows] */
export function resampleWeights(
  scores: Numbers,
  method: ResampleMethod = "pow",
  power = 2,
): Float64Array {
  checkPerRow("resampleWeights", "the score", scores, scores.length);
  const values = Float64Array.from(scores);
  const largest = values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  const smallest = values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  const weight: Record<ResampleMethod, (score: number) => number> = {
    pow: (score) => Math.abs(score) ** power,
    max_min: (score) => (score === largest || score === smallest ? 1 : 0),
    max_random: (score) => (score === largest ? 0.4 : 0.1),
  };
  if (!Object.hasOwn(weight, method))
    throw new RangeError(
      `resampleWeights: unknown method ${method}; expected ${Object.keys(weight).join(", ")}`,
    );
  return values.map((score) => weight[method](score) + 1e-8);
}

/** Row numbers, drawn with replacement. */
export function resampleRows(
  weights: Float64Array,
  generator: Generator,
  draws = weights.length,
): Int32Array {
  if (weights.length === 0) return new Int32Array(0);
  return tidy(() =>
    Int32Array.from(multinomial(fromTypedArray(weights), draws, generator, true).toNumbers()),
  );
}
