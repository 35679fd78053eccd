/**
 * @file DPO, direct preference optimization, and IPO. c: chosen, r: rejected.
 *
 *   h = (logπ(c) − logπ_ref(c)) − (logπ(r) − logπ_ref(r))        log-probabilities of whole answers
 *   DPO    −(1−s)·log σ(β·h) − s·log σ(−β·h)                     β 0.1, label smoothing s 0
 *   IPO    (h − 1/(2β))²                                         h of means per token
 *
 * Metrics by TRL's names.
 *
 * Source: Rafailov et al. 2023, arXiv:2305.18290; Azar et al. 2023, arXiv:2310.12036 (IPO); Mitchell
 * 2023 (label smoothing, "conservative DPO"); TRL.
 */
import { type Tensor, tidy } from "../../torch/index.ts";
import { checkPairs, meanOverPairs } from "./pairs.ts";
import type { LossAndMetrics } from "./policy.ts";

export interface DpoInput {
  /** [pairs at hand] Of the policy, with gradients. */
  chosen: Tensor;
  rejected: Tensor;
  /** [pairs at hand] Of the reference. */
  referenceChosen: Tensor;
  referenceRejected: Tensor;
  /** Pairs of the whole mini-batch and all ranks. Default: those at hand. */
  pairs?: number | undefined;
}

export interface DpoOptions {
  /** Default 0.1. */
  beta?: number | undefined;
  /** The probability that a pair is labelled the wrong way round, below 0.5. Default 0. */
  labelSmoothing?: number | undefined;
  kind?: "sigmoid" | "ipo" | undefined;
}

export function dpoLoss(input: DpoInput, options: DpoOptions = {}): LossAndMetrics {
  const { beta = 0.1, labelSmoothing = 0, kind = "sigmoid" } = options;
  if (!(beta > 0)) throw new RangeError(`dpoLoss: beta is ${beta}, expected more than 0`);
  if (!(labelSmoothing >= 0 && labelSmoothing < 0.5))
    throw new RangeError(`dpoLoss: label smoothing is ${labelSmoothing}, expected 0 to 0.5`);
  return tidy(() => {
    const { chosen, rejected, referenceChosen, referenceRejected } = input;
    checkPairs("dpoLoss", { chosen, rejected, referenceChosen, referenceRejected });
    const gain = chosen.sub(referenceChosen);
    const loss = rejected.sub(referenceRejected);
    const difference = gain.sub(loss);
    const right = difference
      .mul(beta)
      .logSigmoid()
      .mul(labelSmoothing - 1);
    const wrong = difference.mul(-beta).logSigmoid().mul(-labelSmoothing);
    const losses = kind === "ipo" ? difference.sub(1 / (2 * beta)).square() : right.add(wrong);
    return meanOverPairs(losses, input.pairs, {
      "rewards/chosen": gain.mul(beta),
      "rewards/rejected": loss.mul(beta),
      "rewards/margins": difference.mul(beta),
      "rewards/accuracies": difference.gt(0),
    });
  });
}
