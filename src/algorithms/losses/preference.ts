/**
 * @file Learning from pairs: DPO, and the pairwise loss of a reward model. c: chosen, r: rejected.
 *
 *   h = (logπ(c) − logπ_ref(c)) − (logπ(r) − logπ_ref(r))        log-probabilities of whole answers
 *   DPO    −(1−s)·log σ(β·h) − s·log σ(−β·h)                     β 0.1, label smoothing s 0
 *   IPO    (h − 1/(2β))²                                         h of means per token
 *   reward −log σ(score(c) − score(r) − margin) + k·(score(c) + score(r))²
 *
 * Means over all pairs of the mini-batch (`pairs`), so that losses of micro-batches and ranks add up.
 * Metrics are shares of means, as in policy.ts, by TRL's names.
 *
 * Source: Rafailov et al. 2023, arXiv:2305.18290; Azar et al. 2023, arXiv:2310.12036 (IPO); Mitchell
 * 2023 (label smoothing); Ouyang et al. 2022, arXiv:2203.02155; Eisenstein et al. 2023,
 * arXiv:2312.09244 (k keeps scores centred); TRL.
 */
import { stack, type Tensor, tidy } from "../../torch/index.ts";
import { checkLength, NonFiniteError, type Rows } from "../rows.ts";
import { maskedInput, rowOperations } from "./packed.ts";
import type { LossAndMetrics } from "./policy.ts";

/** [rows] Log-probabilities of whole answers: sums over the trained tokens, or means for IPO. */
export function answerLogprobs(
  logprobs: Tensor,
  rows: Rows,
  reduce: "sum" | "mean" = "sum",
): Tensor {
  return tidy(() => {
    const masked = maskedInput("answerLogprobs", "the log-probability", logprobs, rows);
    return rowOperations(rows, masked)[reduce](masked);
  });
}

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

function checkPairs(who: string, tensors: Record<string, Tensor>): void {
  const [first] = Object.values(tensors);
  for (const [name, values] of Object.entries(tensors)) {
    checkLength(who, name, values.numel, first!.numel);
    const place = tidy(() => values.detach().isfinite().toNumbers()).indexOf(0);
    if (place >= 0)
      throw new NonFiniteError(`${who}: ${name}`, values.detach().toNumbers()[place]!, place, -1);
  }
}

function meanOverPairs(
  losses: Tensor,
  pairs = losses.numel,
  metrics: Record<string, Tensor>,
): LossAndMetrics {
  const share = pairs > 0 ? 1 / pairs : 0;
  const names = Object.keys(metrics);
  const sums = stack(names.map((name) => metrics[name]!.detach().sum(undefined, false, "float64")));
  const values = sums.toNumbers();
  return {
    loss: losses.sum(undefined, false, "float64").mul(share),
    metrics: Object.fromEntries(names.map((name, i) => [name, values[i]! * share])),
  };
}
