/**
 * @file Clip-Cov and KL-Cov: hold back the few tokens that collapse the entropy, those whose
 * advantage and log-probability rise and fall together.
 *
 *   cov_t = (A_t − mean A)·(logπ_t − mean logπ) over the trained tokens
 *   clip_cov: L = max(−A·ρ, −A·clip(ρ, 1−ε_low, 1+ε_high)), and 0 for max(1, ⌊r·n⌋) tokens drawn among
 *             those with low < cov < high that the clip did not change      r 2e-4, low 1, high 5
 *   kl_cov:   L = −A·ρ, and + c·|Δ| for the max(1, ⌊r·n⌋) tokens of the largest cov      r 2e-4, c 1
 *
 * Both choose among the tokens at hand: like their reference, and unlike every other loss here, they
 * depend on how a mini-batch is cut into micro-batches.
 *
 * Source: Cui et al. 2025, arXiv:2505.22617; verl compute_policy_loss_clip_cov, _kl_cov.
 */
import { fromTypedArray, randperm, type Tensor, tidy, where } from "../../torch/index.ts";
import { moments } from "../statistics.ts";
import { clipRange, type PolicyLossKind, type PolicyTerms } from "./policy.ts";

export const clipCov: PolicyLossKind = {
  tokenLosses(terms, options) {
    const { advantages, logRatio } = terms;
    const { low, high } = clipRange(options);
    const { clipCovRatio = 2e-4, clipCovLow = 1, clipCovHigh = 5, generator } = options;
    if (!generator) throw new TypeError("clip_cov chooses tokens at random: it needs a generator");
    const ratio = logRatio.clamp(-20, 20).exp();
    const unclipped = advantages.neg().mul(ratio);
    const clipped = advantages.neg().mul(ratio.clamp(1 - low, 1 + high));
    const changed = clipped.gt(unclipped).toNumbers();
    const { covariances, trained } = covariance(terms);
    const candidates = trained.filter((token) => {
      const value = covariances[token]!;
      return changed[token] === 0 && value > clipCovLow && value < clipCovHigh;
    });
    const count = Math.max(1, Math.floor(clipCovRatio * trained.length));
    const order = tidy(() => randperm(candidates.length, generator).toNumbers());
    const chosen = Array.from(order.subarray(0, count), (place) => candidates[place]!);
    const cut = selection(chosen, advantages);
    return {
      losses: where(cut, 0, unclipped.maximum(clipped)),
      metrics: { pg_clipfrac: cut, ppo_kl: logRatio.neg() },
    };
  },
};

export const klCov: PolicyLossKind = {
  tokenLosses(terms, { klCovRatio = 2e-4, klCovCoefficient = 1 }) {
    const { advantages, logRatio } = terms;
    const delta = logRatio.clamp(-20, 20);
    const { covariances, trained } = covariance(terms);
    const count = Math.max(1, Math.floor(klCovRatio * trained.length));
    const chosen = trained.sort((a, b) => covariances[b]! - covariances[a]!).slice(0, count);
    const plain = advantages.neg().mul(delta.exp());
    const held = plain.add(delta.abs(), klCovCoefficient);
    return {
      losses: where(selection(chosen, advantages), held, plain),
      metrics: { ppo_kl: logRatio.abs() },
    };
  },
};

/** Covariances per token (0 where not trained), and the trained tokens. */
function covariance({ rows, advantages, logprobs }: PolicyTerms) {
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
function selection(chosen: readonly number[], like: Tensor): Tensor {
  const flags = new Uint8Array(like.numel);
  for (const token of chosen) flags[token] = 1;
  return fromTypedArray(flags, undefined, { dtype: "bool", device: like.device });
}
