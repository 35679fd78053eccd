/**
 * @file KL to the reference policy as part of the reward, and the controllers of its coefficient.
 *
 *   r_t = score_t − β·kl_t under the mask            kl by one of the estimators of losses/kl.ts
 *   fixed:    β stays
 *   adaptive: β ← β·(1 + clip(kl/target − 1, ±0.2)·n / horizon)       n: rows of the batch
 *
 * The batch's KL is the mean over rows of the mean over their trained tokens. Rows without trained
 * tokens are left out of it (verl counts them as 0). A controller is a plain object: a checkpoint
 * stores it as it is.
 *
 * Source: Ziegler et al. 2019, arXiv:1909.08593; verl apply_kl_penalty, AdaptiveKLController.
 */
import { type KlEstimator, klEstimate } from "../losses/kl.ts";
import { checkRows, checkTokens, type Numbers, type Rows, rowCount } from "../rows.ts";

export type KlController =
  | { type: "fixed"; coefficient: number }
  | { type: "adaptive"; coefficient: number; target: number; horizon: number };

export interface KlControllerOptions {
  type?: "fixed" | "adaptive" | undefined;
  /** Default 0.001. */
  coefficient?: number | undefined;
  /** The KL that an adaptive controller aims at. Default 0.1. */
  target?: number | undefined;
  /** Rows after which an adaptive controller may have changed by a factor of about 1.2. Default 10,000. */
  horizon?: number | undefined;
}

export function klController(options: KlControllerOptions = {}): KlController {
  const { type = "fixed", coefficient = 0.001, target = 0.1, horizon = 10_000 } = options;
  if (!(Number.isFinite(coefficient) && coefficient >= 0))
    throw new RangeError(`KL controller: the coefficient is ${coefficient}, expected 0 or more`);
  if (type === "fixed") return { type, coefficient };
  if (!(target > 0)) throw new RangeError(`KL controller: the target is ${target}, expected > 0`);
  if (!(horizon > 0))
    throw new RangeError(`KL controller: the horizon is ${horizon}, expected > 0`);
  return { type, coefficient, target, horizon };
}

/** The controller after a batch with this KL and so many rows. */
export function updateKlController(
  controller: KlController,
  kl: number,
  batchRows: number,
): KlController {
  if (!Number.isFinite(kl))
    throw new RangeError(`KL controller: the batch's KL is ${kl}, expected a finite number`);
  if (controller.type === "fixed") return controller;
  const { coefficient, target, horizon } = controller;
  const error = Math.min(Math.max(kl / target - 1, -0.2), 0.2);
  return { ...controller, coefficient: coefficient * (1 + (error * batchRows) / horizon) };
}

export interface KlInRewardInput {
  rows: Rows;
  /** [tokens] */
  scores: Numbers;
  /** [tokens] Of the policy before the update. */
  oldLogprobs: Numbers;
  /** [tokens] */
  referenceLogprobs: Numbers;
}

export interface KlInReward {
  /** [tokens] 0 where the mask is 0. */
  rewards: Float64Array;
  /** For `updateKlController`. */
  kl: number;
  metrics: { "actor/reward_kl_penalty": number; "actor/reward_kl_penalty_coeff": number };
}

export function klInReward(
  { rows, scores, oldLogprobs, referenceLogprobs }: KlInRewardInput,
  coefficient: number,
  estimator: KlEstimator = "kl",
): KlInReward {
  checkRows("klInReward", rows);
  checkTokens("klInReward", "the score", scores, rows);
  checkTokens("klInReward", "the log-probability", oldLogprobs, rows);
  checkTokens("klInReward", "the reference log-probability", referenceLogprobs, rows);
  const { offsets, mask } = rows;
  const rewards = new Float64Array(mask.length);
  let sumOfMeans = 0;
  let rowsWithTokens = 0;
  for (let row = 0; row < rowCount(rows); row++) {
    let sum = 0;
    let tokens = 0;
    for (let token = offsets[row]!; token < offsets[row + 1]!; token++) {
      if (mask[token] !== 1) continue;
      const kl = klEstimate(estimator, oldLogprobs[token]!, referenceLogprobs[token]!);
      rewards[token] = scores[token]! - coefficient * kl;
      sum += kl;
      tokens++;
    }
    if (tokens === 0) continue;
    sumOfMeans += sum / tokens;
    rowsWithTokens++;
  }
  const kl = rowsWithTokens === 0 ? 0 : sumOfMeans / rowsWithTokens;
  const metrics = {
    "actor/reward_kl_penalty": kl,
    "actor/reward_kl_penalty_coeff": coefficient,
  };
  return { rewards, kl, metrics };
}
