/**
 * @file The tokens that collapse the entropy: those whose advantage and log-probability rise and fall
 * together.
 *
 *   cov_t = (A_t − mean A)·(logπ_t − mean logπ) over the trained tokens
 *
 * Clip-Cov and KL-Cov choose among the tokens at hand: like their reference, and unlike every other loss
 * here, they depend on how a mini-batch is cut into micro-batches.
 */
import { fromTypedArray, type Tensor } from "../../../torch/index.ts";
import { moments } from "../../statistics.ts";
import type { PolicyTerms } from "./policy.ts";

/** Covariances per token (0 where not trained), and the trained tokens. */
export function covariance({ rows, advantages, logprobs }: PolicyTerms) {
  const a = advantages.toNumbers();
  const l = logprobs.detach().toNumbers();
  const meanAdvantage = moments(a, rows.mask).mean;
  const meanLogprob = moments(l, rows.mask).mean;
  const trained: number[] = [];
  const covariances = new Float64Array(a.length);
  for (let token = 0; token < a.length; token++) {
    if (rows.mask[token] !== 1) continue;
    trained.push(token);
    covariances[token] = (a[token]! - meanAdvantage) * (l[token]! - meanLogprob);
  }
  return { covariances, trained };
}

/** [tokens] true at the chosen ones. */
export function selection(chosen: readonly number[], like: Tensor): Tensor {
  const flags = new Uint8Array(like.numel);
  for (const token of chosen) flags[token] = 1;
  return fromTypedArray(flags, undefined, { dtype: "bool", device: like.device });
}
