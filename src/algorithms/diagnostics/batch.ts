/**
 * @file What a batch looks like: scores, rewards, advantages, returns, values, lengths, turns. Names as
 * verl's compute_data_metrics; a metric without data (no values, no rows) is left out, where verl gives
 * NaN.
 *
 *   critic/vf_explained_var = 1 − var(R − V) / (var(R) + 1e-5)
 *
 * Scores and rewards are sums per row, over rows that have trained tokens; advantages, returns and
 * values are taken over trained tokens.
 */
import { checkTokens, type Numbers, type Rows, sumPerRow, trainedTokens } from "../rows.ts";
import { moments } from "../statistics.ts";

export interface BatchMetricsInput {
  rows: Rows;
  /** [tokens] Before KL and penalties. */
  scores?: Numbers | undefined;
  /** [tokens] What advantages were computed from. */
  rewards?: Numbers | undefined;
  /** [tokens] */
  advantages?: Numbers | undefined;
  /** [tokens] */
  returns?: Numbers | undefined;
  /** [tokens] */
  values?: Numbers | undefined;
  /** [rows] In tokens, observations in the answer included. A length of 0 is an aborted row. */
  responseLengths?: ArrayLike<number> | undefined;
  /** [rows] */
  promptLengths?: ArrayLike<number> | undefined;
  maximumResponseLength?: number | undefined;
  maximumPromptLength?: number | undefined;
  /** [episodes] */
  turns?: ArrayLike<number> | undefined;
  /** [episodes] */
  toolCalls?: ArrayLike<number> | undefined;
}

export function batchMetrics(input: BatchMetricsInput): Record<string, number> {
  const { rows } = input;
  const metrics: Record<string, number> = {};
  const lengths = trainedTokens(rows);
  const present = (values: ArrayLike<number>) =>
    Array.from(values).filter((_, row) => lengths[row]! > 0);
  const trained = (values: Numbers) => Array.from(values).filter((_, i) => rows.mask[i] === 1);

  for (const [name, values] of [
    ["score", input.scores],
    ["rewards", input.rewards],
  ] as const)
    if (values) {
      checkTokens("batchMetrics", name, values, rows);
      Object.assign(metrics, summary(`critic/${name}`, present(sumPerRow(rows, values))));
    }
  for (const name of ["advantages", "returns", "values"] as const) {
    const values = input[name];
    if (!values) continue;
    checkTokens("batchMetrics", name, values, rows);
    Object.assign(metrics, summary(`critic/${name}`, trained(values)));
  }
  if (input.values && input.returns)
    Object.assign(metrics, explainedVariance(trained(input.returns), trained(input.values)));

  const { responseLengths, promptLengths } = input;
  if (responseLengths) {
    const all = Array.from(responseLengths);
    const finished = all.filter((length) => length > 0);
    const most = input.maximumResponseLength;
    Object.assign(metrics, lengthSummary("response_length", all, most));
    Object.assign(metrics, lengthSummary("response_length_non_aborted", finished, most));
    if (all.length > 0) metrics["response/aborted_ratio"] = 1 - finished.length / all.length;
  }
  if (promptLengths)
    Object.assign(
      metrics,
      lengthSummary("prompt_length", Array.from(promptLengths), input.maximumPromptLength),
    );
  if (input.turns) Object.assign(metrics, summary("num_turns", Array.from(input.turns)));
  if (input.toolCalls)
    Object.assign(metrics, summary("tool_call_counts", Array.from(input.toolCalls)));
  return metrics;
}

/** name/mean, name/max and name/min; nothing for no values. */
export function summary(name: string, values: readonly number[]): Record<string, number> {
  if (values.length === 0) return {};
  return {
    [`${name}/mean`]: moments(values).mean,
    [`${name}/max`]: values.reduce((most, value) => Math.max(most, value)),
    [`${name}/min`]: values.reduce((least, value) => Math.min(least, value)),
  };
}

/** And name/clip_ratio, the share that reached the maximum. */
function lengthSummary(
  name: string,
  values: readonly number[],
  maximum: number | undefined,
): Record<string, number> {
  const metrics = summary(name, values);
  if (maximum !== undefined && values.length > 0)
    metrics[`${name}/clip_ratio`] =
      values.filter((value) => value >= maximum).length / values.length;
  return metrics;
}

/** How much of the returns' variance the critic's values explain: 1 all, 0 none, below 0 it misleads. */
export function explainedVariance(
  returns: readonly number[],
  values: readonly number[],
): Record<string, number> {
  if (returns.length < 2) return {};
  const residual = moments(returns.map((value, i) => value - values[i]!)).variance;
  return {
    "critic/vf_explained_var": 1 - residual / (moments(returns).variance + 1e-5),
  };
}
