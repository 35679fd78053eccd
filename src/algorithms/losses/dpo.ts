/**
 * @file DPO, direct preference optimization, its length-normalised form, and IPO. c: chosen, r: rejected.
 *
 *   h = (logπ(c) − logπ_ref(c)) − (logπ(r) − logπ_ref(r))
 *
 *   sigmoid        −(1−s)·log σ(β·h) − s·log σ(−β·h)      h of sums over an answer's tokens; β 0.1, label smoothing s 0
 *   sigmoid_norm   the same                               h of means per token
 *   ipo            (h − 1/(2β))²                          h of means per token
 *
 * and in each kind − α·logπ(c) per token (α 0), which holds the chosen answers: h alone also grows while both fall.
 *
 * Kinds and metrics by TRL's names. In `sigmoid_norm` and `ipo` rewards are of means per token, too.
 *
 * Source: Rafailov et al. 2023, arXiv:2305.18290; Lambert et al. 2024, arXiv:2411.15124, equation 6 (sigmoid_norm); Azar
 * et al. 2023, arXiv:2310.12036 (IPO; means: as TRL 1.16's dpo_trainer.py says its authors computed it); Mitchell 2023
 * (label smoothing, "conservative DPO"); Pang et al. 2024, arXiv:2404.19733 (α).
 */
import { type Tensor, tidy } from "../../torch/index.ts";
import { checkPairs, meanOverPairs } from "./pairs.ts";
import type { LossAndMetrics } from "./policy/policy.ts";

export interface DpoInput {
  /** [pairs at hand] log p of whole answers by the policy, with gradients: sums or means, by the kind. */
  chosen: Tensor;
  rejected: Tensor;
  /** [pairs at hand] Of the reference. */
  referenceChosen: Tensor;
  referenceRejected: Tensor;
  /** [pairs at hand] log p per token of the chosen answers by the policy, with gradients; only for `sftWeight`. */
  chosenMeans?: Tensor | undefined;
  /** Pairs of the whole mini-batch and all ranks. Default: those at hand. */
  pairs?: number | undefined;
}

export const DPO_KINDS = ["sigmoid", "sigmoid_norm", "ipo"] as const;

export type DpoKind = (typeof DPO_KINDS)[number];

export interface DpoOptions {
  /** Default 0.1. */
  beta?: number | undefined;
  /** The probability that a pair is labelled the wrong way round, below 0.5. Default 0. */
  labelSmoothing?: number | undefined;
  /** Default sigmoid. */
  kind?: DpoKind | undefined;
  /** α: how much the chosen answers are learned besides. Default 0. */
  sftWeight?: number | undefined;
}

export function dpoLoss(input: DpoInput, options: DpoOptions = {}): LossAndMetrics {
  const { beta = 0.1, labelSmoothing = 0, kind = "sigmoid", sftWeight = 0 } = options;
  if (!(beta > 0)) throw new RangeError(`dpoLoss: beta is ${beta}, expected more than 0`);
  if (!(labelSmoothing >= 0 && labelSmoothing < 0.5))
    throw new RangeError(`dpoLoss: label smoothing is ${labelSmoothing}, expected 0 to 0.5`);
  if (!(sftWeight >= 0))
    throw new RangeError(
      `dpoLoss: the weight of the chosen answers is ${sftWeight}, expected 0 or more`,
    );
  if (sftWeight > 0 && !input.chosenMeans)
    throw new TypeError(
      "dpoLoss: sftWeight needs chosenMeans, log p per token of the chosen answers",
    );
  return tidy(() => {
    const { chosen, rejected, referenceChosen, referenceRejected, chosenMeans } = input;
    checkPairs("dpoLoss", {
      ...{ chosen, rejected, referenceChosen, referenceRejected },
      ...(chosenMeans && { chosenMeans }),
    });
    const gain = chosen.sub(referenceChosen);
    const loss = rejected.sub(referenceRejected);
    const difference = gain.sub(loss);
    const right = difference
      .mul(beta)
      .logSigmoid()
      .mul(labelSmoothing - 1);
    const wrong = difference.mul(-beta).logSigmoid().mul(-labelSmoothing);
    const preferring = kind === "ipo" ? difference.sub(1 / (2 * beta)).square() : right.add(wrong);
    const losses = sftWeight > 0 ? preferring.sub(chosenMeans!.mul(sftWeight)) : preferring;
    return meanOverPairs(losses, input.pairs, {
      "rewards/chosen": gain.mul(beta),
      "rewards/rejected": loss.mul(beta),
      "rewards/margins": difference.mul(beta),
      "rewards/accuracies": difference.gt(0),
    });
  });
}
