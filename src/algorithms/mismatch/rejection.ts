/**
 * @file Rejection: tokens or whole rows on which rollout and training disagree too much are not
 * trained on.
 *
 *   d = clamp(logπ_train − logπ_rollout, ±20)      k1 = −d      k2 = d²/2      k3 = e^d − 1 − d
 *   token_k1, k2, k3           a token goes by its own value
 *   seq_sum_, seq_mean_k1…k3   a row goes by the sum or mean over its trained tokens
 *   seq_max_k2, k3             a row goes by its worst token
 *
 * Thresholds: k2 and k3 stay when ≤ the upper bound. k1 bounds are ratios "lower_upper", or one number u
 * for 1/u to u, and k1 stays when between their logarithms. Several options ("token_k1,seq_max_k3") with
 * one threshold each, or one for all: a token stays when all keep it.
 *
 * Source: verl rollout_corr_helper.compute_rollout_rejection_mask.
 */
import type { Numbers, Rows } from "../rows.ts";
import { type Mismatch, type MismatchInput, readMismatch } from "./input.ts";
import { rejectionMetrics } from "./rejection-metrics.ts";
import { type Bounds, parseRejection } from "./rejection-options.ts";

export interface Rejection {
  /** The rows with the rejected tokens masked: use it in the losses, and count it anew. */
  rows: Rows;
  /** rollout_rs_*; put "rollout_corr/" before them. */
  metrics: Record<string, number>;
}

/** `options` and `thresholds` are lists by commas, as in verl's configuration. */
export function rejectMismatch(
  input: MismatchInput,
  options: string,
  thresholds: string | number,
): Rejection {
  const chosen = parseRejection(options, thresholds);
  const mismatch = readMismatch("rejectMismatch", input, { countEmptyRows: false });
  const mask = input.rows.mask.slice();
  const metrics: Record<string, number> = {};
  for (const [option, bounds] of chosen) {
    const values = tokenValues(option, mismatch);
    const perRow = option.startsWith("token_")
      ? undefined
      : mismatch.rows.map((row) => rowValue(option, mismatch, row, values));
    const rejected = new Uint8Array(mask.length);
    for (const [i, row] of mismatch.rows.entries())
      for (const token of mismatch.tokensOf(row))
        if (!within(perRow ? perRow[i]! : values[token]!, bounds)) rejected[token] = 1;
    Object.assign(metrics, rejectionMetrics(option, bounds, mismatch, values, perRow, rejected));
    for (let token = 0; token < mask.length; token++) if (rejected[token]) mask[token] = 0;
  }
  let before = 0;
  let after = 0;
  for (let token = 0; token < mask.length; token++) {
    before += input.rows.mask[token]!;
    after += mask[token]!;
  }
  const touched = mismatch.rows.filter((row) =>
    [...mismatch.tokensOf(row)].some((token) => mask[token] === 0),
  ).length;
  metrics.rollout_rs_masked_fraction = before === 0 ? 0 : 1 - after / before;
  metrics.rollout_rs_seq_masked_fraction =
    mismatch.rows.length === 0 ? 0 : touched / mismatch.rows.length;
  return { rows: { offsets: input.rows.offsets, mask }, metrics };
}

function within(value: number, { lower, upper }: Bounds): boolean {
  return (lower === undefined || value >= lower) && value <= upper;
}

/** [tokens] k1, k2 or k3 of each trained token. */
function tokenValues(option: string, { differences }: Mismatch): Float64Array {
  return differences.map((difference) => {
    const d = Math.min(Math.max(difference, -20), 20);
    if (option.endsWith("k1")) return -d;
    return option.endsWith("k2") ? 0.5 * d * d : Math.expm1(d) - d;
  });
}

function rowValue(option: string, mismatch: Mismatch, row: number, values: Numbers): number {
  if (option.startsWith("seq_sum")) return mismatch.rowSum(row, values);
  if (option.startsWith("seq_mean")) return mismatch.rowMean(row, values);
  let most = Number.NEGATIVE_INFINITY;
  for (const token of mismatch.tokensOf(row)) most = Math.max(most, values[token]!);
  return most;
}
