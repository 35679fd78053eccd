/**
 * @file Sequences of different lengths in one pass, without padding: their tokens one after the other, and
 * what several begin with only once.
 */
import { type Device, fromTypedArray, type Tensor } from "../../torch/index.ts";
import { prefixTrees, type Sequence } from "./prefix-trees.ts";

export interface PackedSequences {
  /** int64 [tokens] */
  ids: Tensor;
  /** Place of each token in its own sequence, int64 [tokens]. */
  positions: Tensor;
  /** Where each run of tokens begins, and the end: int64 [runs + 1], on the host. A sequence is one, or several. */
  cumulativeLengths: Tensor;
  /** The run that each goes on from, -1 for none: int64 [runs], on the host. Null: each run is a sequence. */
  parents: Tensor | null;
  /** Tokens of each sequence. */
  lengths: readonly number[];
  /** The longest sequence. */
  longest: number;
  /** Where the tokens of each sequence stand in the pass. */
  places: readonly Int32Array[];
}

export interface PackOptions {
  device?: Device;
  /** Whether tokens that sequences have in common at their beginnings are there only once. Default false. */
  sharePrefixes?: boolean;
}

/** Packs sequences of token ids. Empty ones are allowed and take no room. */
export function packSequences(
  sequences: readonly Sequence[],
  { device = "cpu", sharePrefixes = false }: PackOptions = {},
): PackedSequences {
  const { runs, last } = prefixTrees(sequences, sharePrefixes);
  const tokens = runs.reduce((sum, { begin, end }) => sum + end - begin, 0);
  const ids = new BigInt64Array(tokens);
  const positions = new BigInt64Array(tokens);
  const cumulative = new BigInt64Array(runs.length + 1);
  let at = 0;
  for (const [i, { sequence, begin, end }] of runs.entries()) {
    for (let k = begin; k < end; k++) {
      ids[at] = BigInt(sequences[sequence]![k]!);
      positions[at++] = BigInt(k);
    }
    cumulative[i + 1] = BigInt(at);
  }
  const places = sequences.map(({ length }, sequence) => {
    const own = new Int32Array(length);
    for (let run = last[sequence]!; run >= 0; run = runs[run]!.parent) {
      const { begin, end } = runs[run]!;
      const start = Number(cumulative[run]);
      for (let k = begin; k < end; k++) own[k] = start + k - begin;
    }
    return own;
  });
  const upload = (values: BigInt64Array) => fromTypedArray(values, undefined, { device });
  const lengths = sequences.map(({ length }) => length);
  return {
    ids: upload(ids),
    positions: upload(positions),
    // On the host: there attention is cut into parts, and nobody waits for a device to say how.
    cumulativeLengths: fromTypedArray(cumulative),
    parents: runs.some(({ parent }) => parent >= 0)
      ? fromTypedArray(BigInt64Array.from(runs, ({ parent }) => BigInt(parent)))
      : null,
    lengths,
    longest: lengths.reduce((most, length) => Math.max(most, length), 0),
    places,
  };
}
