/**
 * @file Golden cases of rollout correction. The reference counts rows without trained tokens.
 */
import {
  importanceWeights,
  offPolicyMetrics,
  rejectMismatch,
} from "../../../src/algorithms/index.ts";
import { compareMetrics, compareTokens, type GoldenCase, Inputs, type Report } from "./case.ts";

export function mismatchCases({ name, in: fields, out }: GoldenCase): Report | undefined {
  const [family, option, variant] = name.split("/");
  if (!["rollout_is", "rollout_rs", "offpolicy_metrics"].includes(family!)) return undefined;
  const input = new Inputs(fields);
  const rows = input.rows();
  const batch = {
    rows,
    trainLogprobs: input.matrix("train_logp"),
    rolloutLogprobs: input.matrix("rollout_logp"),
  };
  if (family === "offpolicy_metrics")
    return { problems: compareMetrics(offPolicyMetrics(batch, { countEmptyRows: true }), out) };
  if (family === "rollout_rs") {
    const threshold = String(fields.threshold);
    const kept = rejectMismatch(batch, option!, threshold);
    const { mask_out: mask, ...rest } = out;
    return {
      problems: [
        ...compareTokens("mask_out", Float64Array.from(kept.rows.mask), mask, rows),
        ...compareMetrics(kept.metrics, rest),
      ],
    };
  }
  const { weights, metrics } = importanceWeights(batch, {
    level: option as "token" | "sequence",
    threshold: Number(fields.threshold ?? 2),
    normalize: variant === "batchnorm",
    countEmptyRows: true,
  });
  return {
    problems: [
      ...compareTokens("weights", weights, out.weights, rows),
      ...compareMetrics(metrics, out),
    ],
  };
}
