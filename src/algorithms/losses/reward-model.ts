/**
 * @file The losses of reward models. Of pairs (Bradley-Terry; c: chosen, r: rejected):
 *
 *   −log σ(score(c) − score(r) − margin) + k·(score(c) + score(r))²        k 0
 *
 * k keeps the scores, of which only differences matter, around 0. Of labels y from 0 to 1, binary cross-entropy:
 *
 *   −y·log σ(score) − (1 − y)·log σ(−score)
 *
 * Source: Ouyang et al. 2022, arXiv:2203.02155; Touvron et al. 2023, arXiv:2307.09288 (margin);
 * Eisenstein et al. 2023, arXiv:2312.09244 (k); TRL. Labels of outcomes and of steps: Lightman et al. 2023,
 * arXiv:2305.20050; values of a search as labels: Wang et al. 2023, arXiv:2312.08935.
 */
import { type Tensor, tidy } from "../../torch/index.ts";
import { checkPairs, meanOverPairs } from "./pairs.ts";
import type { LossAndMetrics } from "./policy/policy.ts";

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

export interface LabelledInput {
  /** [labels] Scores of the reward model, with gradients. */
  scores: Tensor;
  /** [labels] 0 to 1. */
  labels: Tensor;
  /** [labels] What each counts in the mean: all of a mini-batch and all ranks add up to 1. */
  shares: Tensor;
}

export function labelledLoss({ scores, labels, shares }: LabelledInput): LossAndMetrics {
  return tidy(() => {
    checkPairs("labelledLoss", { scores, labels, shares });
    const right = scores.logSigmoid().mul(labels);
    const wrong = scores.neg().logSigmoid().mul(labels.neg().add(1));
    const agrees = scores.gt(0).eq(labels.gt(0.5)).to(shares.dtype);
    const total = (values: Tensor) => values.mul(shares).sum(undefined, false, "float64");
    return {
      loss: total(right.add(wrong).neg()),
      metrics: {
        accuracy: total(agrees).item(),
        probability: total(scores.detach().sigmoid()).item(),
        label: total(labels).item(),
      },
    };
  });
}
