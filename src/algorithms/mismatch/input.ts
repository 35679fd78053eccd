/**
 * @file What the comparisons of rollout and training share: their input, and walks over it.
 */
import {
  checkRows,
  checkTokens,
  type Numbers,
  type Rows,
  rowCount,
  trainedTokens,
} from "../rows.ts";

export interface MismatchInput {
  rows: Rows;
  /** [tokens] Of the policy that is trained, before the update. */
  trainLogprobs: Numbers;
  /** [tokens] As recorded when the tokens were sampled. */
  rolloutLogprobs: Numbers;
}

export interface MismatchOptions {
  /**
   * Whether rows without trained tokens take part in means over rows, as if they were in perfect
   * agreement. verl counts them. Default false: they say nothing about agreement.
   */
  countEmptyRows?: boolean | undefined;
}

export interface Mismatch {
  /** The rows that count. */
  rows: number[];
  /** [tokens] logπ_train − logπ_rollout; 0 where the mask is 0. */
  differences: Float64Array;
  /** The trained tokens of a row. */
  tokensOf(row: number): Iterable<number>;
  rowSum(row: number, values: Numbers): number;
  /** 0 for a row without trained tokens. */
  rowMean(row: number, values: Numbers): number;
}

export function readMismatch(
  who: string,
  input: MismatchInput,
  options: MismatchOptions,
): Mismatch {
  const { offsets, mask } = input.rows;
  checkRows(who, input.rows);
  checkTokens(who, "the training log-probability", input.trainLogprobs, input.rows);
  checkTokens(who, "the rollout log-probability", input.rolloutLogprobs, input.rows);
  const lengths = trainedTokens(input.rows);
  const differences = new Float64Array(mask.length);
  for (let token = 0; token < mask.length; token++)
    if (mask[token] === 1)
      differences[token] = input.trainLogprobs[token]! - input.rolloutLogprobs[token]!;
  function* tokensOf(row: number) {
    for (let token = offsets[row]!; token < offsets[row + 1]!; token++)
      if (mask[token] === 1) yield token;
  }
  const rowSum = (row: number, values: Numbers) => {
    let sum = 0;
    for (const token of tokensOf(row)) sum += values[token]!;
    return sum;
  };
  return {
    rows: Array.from({ length: rowCount(input.rows) }, (_, row) => row).filter(
      (row) => options.countEmptyRows || lengths[row]! > 0,
    ),
    differences,
    tokensOf,
    rowSum,
    rowMean: (row, values) => (lengths[row] === 0 ? 0 : rowSum(row, values) / lengths[row]!),
  };
}
