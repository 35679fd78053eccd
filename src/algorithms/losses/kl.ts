/**
 * @file Estimators of KL(policy ‖ reference) from one sampled token, and the KL loss.
 *
 *   d = logπ − logπ_ref
 *   kl, k1:          d                    unbiased, may be negative
 *   abs:             |d|
 *   mse, k2:         d²/2
 *   low_var_kl, k3:  e^x − x − 1, x = clamp(−d, ±20), then clamped to ±10
 *   name+:           the value of `name`, the gradient of k2
 *
 * Why "+": over samples from π, the gradients of k1 and k3 are not the gradient of the KL, that of k2
 * is. verl b178a3cd5 raises an error for "+" (fixed by PR#6058).
 *
 * Source: Schulman 2020, joschu.net/blog/kl-approx.html; verl kl_penalty.
 */
import { type Tensor, tidy } from "../../torch/index.ts";
import { type AggregationInput, aggregate } from "./aggregation.ts";
import { maskedInput, type TokenValues } from "./packed.ts";

export type KlKind = "kl" | "k1" | "abs" | "mse" | "k2" | "low_var_kl" | "k3";
export type KlEstimator = KlKind | `${KlKind}+`;

const KINDS: readonly KlKind[] = ["kl", "k1", "abs", "mse", "k2", "low_var_kl", "k3"];

/** Splits a name into its kind and whether the gradient is k2's. */
function parse(estimator: string): { kind: KlKind; straightThrough: boolean } {
  const straightThrough = estimator.endsWith("+");
  const name = straightThrough ? estimator.slice(0, -1) : estimator;
  const kind = KINDS.find((one) => one === name);
  if (kind === undefined)
    throw new RangeError(
      `Unknown KL estimator ${estimator}; expected ${KINDS.join(", ")}, each also with a + behind it`,
    );
  return { kind, straightThrough };
}

/** One token's estimate, as a number. */
export function klEstimate(estimator: KlEstimator, logprob: number, reference: number): number {
  const difference = logprob - reference;
  switch (parse(estimator).kind) {
    case "kl":
    case "k1":
      return difference;
    case "abs":
      return Math.abs(difference);
    case "mse":
    case "k2":
      return 0.5 * difference * difference;
    case "low_var_kl":
    case "k3": {
      const x = Math.min(Math.max(-difference, -20), 20);
      return Math.min(Math.max(Math.expm1(x) - x, -10), 10);
    }
  }
}

/** Estimates per token, with gradients. */
export function klPenalty(logprobs: Tensor, reference: Tensor, estimator: KlEstimator): Tensor {
  const { kind, straightThrough } = parse(estimator);
  const difference = logprobs.sub(reference);
  const value = forward(difference, kind);
  if (!straightThrough || kind === "mse" || kind === "k2") return value;
  const gradient = difference.square().mul(0.5);
  return gradient.sub(gradient.detach()).add(value.detach());
}

function forward(difference: Tensor, kind: KlKind): Tensor {
  switch (kind) {
    case "kl":
    case "k1":
      return difference;
    case "abs":
      return difference.abs();
    case "mse":
    case "k2":
      return difference.square().mul(0.5);
    case "low_var_kl":
    case "k3": {
      const x = difference.neg().clamp(-20, 20);
      return x.expm1().sub(x).clamp(-10, 10);
    }
  }
}

export interface KlLossInput extends AggregationInput {
  /** [tokens] */
  logprobs: Tensor;
  /** [tokens] */
  referenceLogprobs: TokenValues;
}

/** The KL term of the actor's loss, not yet multiplied by its coefficient. */
export function klLoss(
  input: KlLossInput,
  estimator: KlEstimator = "low_var_kl",
): { loss: Tensor; metrics: { "actor/kl_loss": number } } {
  return tidy(() => {
    const logprobs = maskedInput("klLoss", "the log-probability", input.logprobs, input.rows);
    const reference = maskedInput(
      "klLoss",
      "the reference log-probability",
      input.referenceLogprobs,
      input.rows,
      logprobs,
    );
    const loss = aggregate(klPenalty(logprobs, reference, estimator), input);
    return { loss, metrics: { "actor/kl_loss": loss.item() } };
  });
}
