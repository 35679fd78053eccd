/**
 * @file Sequences of different lengths in one pass, without padding: their tokens one after the other.
 */
import { type Device, fromTypedArray, type Tensor } from "../../torch/index.ts";

export interface PackedSequences {
  /** int64 [tokens] */
  ids: Tensor;
  /** Place of each token in its own sequence, int64 [tokens]. */
  positions: Tensor;
  /** Where each sequence begins, and the end: int64 [sequences + 1]. */
  cumulativeLengths: Tensor;
  /** Tokens of each sequence. */
  lengths: readonly number[];
  /** The longest sequence. */
  longest: number;
}

/** Packs sequences of token ids. Empty ones are allowed and take no room. */
export function packSequences(
  sequences: readonly (readonly number[] | Int32Array)[],
  device: Device = "cpu",
): PackedSequences {
  const lengths = sequences.map((sequence) => sequence.length);
  const tokens = lengths.reduce((sum, length) => sum + length, 0);
  const ids = new BigInt64Array(tokens);
  const positions = new BigInt64Array(tokens);
  const cumulative = new BigInt64Array(sequences.length + 1);
  let at = 0;
  for (const [i, sequence] of sequences.entries()) {
    for (let k = 0; k < sequence.length; k++) {
      ids[at] = BigInt(sequence[k]!);
      positions[at++] = BigInt(k);
    }
    cumulative[i + 1] = BigInt(at);
  }
  const upload = (values: BigInt64Array) => fromTypedArray(values, undefined, { device });
  return {
    ids: upload(ids),
    positions: upload(positions),
    cumulativeLengths: upload(cumulative),
    lengths,
    longest: lengths.reduce((most, length) => Math.max(most, length), 0),
  };
}

/**
 * Splits work into micro-batches of at most a number of tokens, longest first, so that few large
 * passes are made. A sequence longer than the budget gets a pass of its own. Returns indices.
 */
export function byTokenBudget(lengths: readonly number[], budget: number): number[][] {
  if (!(budget > 0))
    throw new RangeError(`byTokenBudget: expected a budget above 0, got ${budget}`);
  const order = lengths.map((_, i) => i).sort((a, b) => lengths[b]! - lengths[a]! || a - b);
  const batches: { members: number[]; tokens: number }[] = [];
  for (const i of order) {
    const batch = batches.find(({ tokens }) => tokens + lengths[i]! <= budget);
    if (batch) {
      batch.members.push(i);
      batch.tokens += lengths[i]!;
    } else {
      batches.push({ members: [i], tokens: lengths[i]! });
    }
  }
  return batches.map(({ members }) => members.sort((a, b) => a - b));
}
