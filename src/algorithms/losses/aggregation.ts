/**
 * @file From losses per token to one loss. T, R: trained tokens and rows of the whole mini-batch, over
 * all micro-batches and ranks; n_i: trained tokens of row i.
 *
 *   token-mean               Σ_it L_it / T
 *   seq-mean-token-sum       Σ_i (Σ_t L_it) / R
 *   seq-mean-token-mean      Σ_i (Σ_t L_it / n_i) / R
 *   seq-mean-token-sum-norm  Σ_i (Σ_t L_it / H) / R        H: a constant length (Dr.GRPO)
 *
 * All four are Σ w_it·L_it with weights that depend on the token's row and on T, R, H alone. So the
 * losses of micro-batches and ranks add up to the loss of the mini-batch, however it was cut, and
 * gradients must be summed over ranks, not averaged.
 *
 * Differences from verl's agg_loss, and why: it takes T and R of the micro-batch unless told
 * otherwise, and so depends on the cut (verl#5625, #906); it multiplies by the number of ranks because
 * its ranks average gradients; seq-mean-token-sum-norm did not divide by R (pass `rows: 1` for that).
 * R counts rows with trained tokens, as there.
 */
import { fromTypedArray, type Tensor, tidy, where } from "../../torch/index.ts";
import { type Rows, rowCount, trainedTokens } from "../rows.ts";
import { maskTensor } from "./packed.ts";

export const AGGREGATION_MODES = [
  "token-mean",
  "seq-mean-token-sum",
  "seq-mean-token-mean",
  "seq-mean-token-sum-norm",
] as const;

export type AggregationMode = (typeof AGGREGATION_MODES)[number];

/** Sizes of a mini-batch. */
export interface Counts {
  /** Trained tokens. */
  tokens: number;
  /** Rows with at least one trained token. */
  rows: number;
}

/** What every loss over packed tokens needs beside its own inputs. */
export interface AggregationInput {
  /** The rows at hand: a micro-batch. */
  rows: Rows;
  /** Of the whole mini-batch and all ranks: `addCounts` of the parts' `countsOf`. */
  counts: Counts;
  /** Of what is computed of it, where that is not all: metrics are means over these. Default: `counts`. */
  computed?: Counts | undefined;
  /** Default token-mean. */
  aggregation?: AggregationMode | undefined;
  /** H, needed for seq-mean-token-sum-norm: usually the longest answer allowed. */
  horizon?: number | undefined;
}

/** Counts of some rows. */
export function countsOf(rows: Rows): Counts {
  const lengths = trainedTokens(rows);
  return {
    tokens: lengths.reduce((sum, length) => sum + length, 0),
    rows: lengths.reduce((sum, length) => sum + (length > 0 ? 1 : 0), 0),
  };
}

export function addCounts(parts: Iterable<Counts>): Counts {
  const total = { tokens: 0, rows: 0 };
  for (const part of parts) {
    total.tokens += part.tokens;
    total.rows += part.rows;
  }
  return total;
}

/** [tokens] w_it; 0 under mask 0, and everywhere when nothing in the mini-batch is trained. */
export function tokenWeights(input: AggregationInput): Float64Array {
  const { rows, counts, aggregation = "token-mean", horizon } = input;
  const weights = new Float64Array(rows.mask.length);
  const lengths = trainedTokens(rows);
  const weightOfRow = rowWeight(aggregation, counts, horizon);
  for (let row = 0; row < rowCount(rows); row++) {
    if (lengths[row] === 0) continue;
    const weight = weightOfRow(lengths[row]!);
    for (let token = rows.offsets[row]!; token < rows.offsets[row + 1]!; token++)
      if (rows.mask[token] === 1) weights[token] = weight;
  }
  return weights;
}

function rowWeight(
  mode: AggregationMode,
  counts: Counts,
  horizon: number | undefined,
): (length: number) => number {
  if (!(counts.tokens > 0) || !(counts.rows > 0)) return () => 0;
  switch (mode) {
    case "token-mean":
      return () => 1 / counts.tokens;
    case "seq-mean-token-sum":
      return () => 1 / counts.rows;
    case "seq-mean-token-mean":
      return (length) => 1 / (counts.rows * length);
    case "seq-mean-token-sum-norm":
      if (horizon === undefined || !(horizon > 0))
        throw new RangeError(
          `seq-mean-token-sum-norm divides by a constant length, but the horizon is ${horizon}: ` +
            "pass the longest answer allowed, in tokens (verl's loss_scale_factor).",
        );
      return () => 1 / (counts.rows * horizon);
    default:
      throw new RangeError(`Unknown aggregation ${mode}; expected ${AGGREGATION_MODES.join(", ")}`);
  }
}

/** Σ w·L, a float64 scalar with gradients. */
export function aggregate(losses: Tensor, input: AggregationInput): Tensor {
  return tidy(() => {
    const options = { dtype: losses.dtype, device: losses.device };
    const weights = fromTypedArray(tokenWeights(input), undefined, options);
    const masked = where(maskTensor(input.rows, losses), losses, 0);
    return masked.mul(weights).sum(undefined, false, "float64");
  });
}
