/**
 * @file What learning from pairs shares: checks, means over pairs, and the log-probabilities of whole
 * answers.
 *
 * Means are over all pairs of the mini-batch, so that losses of micro-batches and ranks add up. Metrics
 * are shares of means, as in policy.ts.
 */
import { stack, type Tensor, tidy } from "../../torch/index.ts";
import { checkLength, NonFiniteError, type Rows } from "../rows.ts";
import { maskedInput, rowOperations } from "./packed.ts";
import type { LossAndMetrics } from "./policy/policy.ts";

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

/** Refuses tensors of different lengths, and values that are not finite. */
export function checkPairs(who: string, tensors: Record<string, Tensor>): void {
  const [first] = Object.values(tensors);
  for (const [name, values] of Object.entries(tensors)) {
    checkLength(who, name, values.numel, first!.numel);
    const place = tidy(() => values.detach().isfinite().toNumbers()).indexOf(0);
    if (place >= 0)
      throw new NonFiniteError(`${who}: ${name}`, values.detach().toNumbers()[place]!, place, -1);
  }
}

/** `pairs`: of the whole mini-batch and all ranks; by default those at hand. */
export function meanOverPairs(
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
