/**
 * @file The pairwise loss of a reward model (Bradley-Terry). c: chosen, r: rejected.
 *
 *   −log σ(score(c) − score(r) − margin) + k·(score(c) + score(r))²        k 0
 *
 * k keeps the scores, of which only differences matter, around 0.
 *
 * Source: Ouyang et al. 2022, arXiv:2203.02155; Touvron et al. 2023, arXiv:2307.09288 (margin);
 * Eisenstein et al. 2023, arXiv:2312.09244 (k); TRL.
 */
import { type Tensor, tidy } from "../../torch/index.ts";
import { checkPairs, meanOverPairs } from "./pairs.ts";
import type { LossAndMetrics } from "./policy.ts";

export interface RewardModelInput {
  /** [pairs at hand] Scores of the reward model, with gradients. */
  chosen: Tensor;
  rejected: Tensor;
  /** [pairs at hand] By how much the chosen one should be better. */
  margins?: Tensor | undefined;
  /** As in DPO. */
  pairs?: number | undefined;
}

export interface RewardModelOptions {
  /** k. Default 0. */
  centeringCoefficient?: number | undefined;
}

export function rewardModelLoss(
  input: RewardModelInput,
  options: RewardModelOptions = {},
): LossAndMetrics {
  const { centeringCoefficient = 0 } = options;
  return tidy(() => {
    const { chosen, rejected, margins } = input;
    checkPairs("rewardModelLoss", { chosen, rejected, ...(margins ? { margins } : {}) });
    const difference = chosen.sub(rejected);
    const margin = margins ? difference.sub(margins) : difference;
    const centering = chosen.add(rejected).square().mul(centeringCoefficient);
    return meanOverPairs(margin.logSigmoid().neg().add(centering), input.pairs, {
      accuracy: difference.gt(0),
      margin: difference,
    });
  });
}
