/**
 * @file What a model's golden.json holds.
 */

export interface GoldenStep {
  loss: number;
  grad_norm_before_clip: number;
  /** By transformers' names; the first step has them. */
  param_grad_norms?: Record<string, number>;
}

export interface Golden {
  /** Rows of equal length, left-padded. */
  input_ids: number[][];
  /** 1 for tokens, 0 for padding. */
  attention_mask: number[][];
  /** [rows, tokens, vocabulary]; null where padded. */
  logits: (number[] | null)[][];
  greedy_16: number[][];
  train: { loss_mask: number[][]; steps: GoldenStep[] };
}

export function parseGolden(value: unknown): Golden {
  const golden = value as Partial<Golden>;
  for (const key of ["input_ids", "attention_mask", "logits", "greedy_16"] as const)
    if (!Array.isArray(golden[key])) throw new Error(`golden.json: ${key} must be an array`);
  if (!Array.isArray(golden.train?.steps)) throw new Error("golden.json: train.steps is missing");
  return golden as Golden;
}

/** A row without its padding: left-padding is expressed as a shorter packed row. */
export function unpadded<Value>(row: readonly Value[], mask: readonly number[]): Value[] {
  return row.filter((_, i) => mask[i] === 1);
}
