/**
 * @file Between a batch of episodes and a forward pass: some of its rows packed, with the places that
 * predict the trained tokens.
 *
 * What comes out of the pass is compact: only trained tokens, row after row. Losses do not see the
 * others, and need not: values under mask 0 never matter.
 */
import type { Rows } from "../../algorithms/index.ts";
import {
  byTokenBudget,
  familiesByTokenBudget,
  hasDynamicRope,
  type Model,
  type PackedSequences,
  packSequences,
} from "../../models/index.ts";
import type { Batch } from "../../rollout/index.ts";
import { fromTypedArray, noGrad, type Tensor, tidy } from "../../torch/index.ts";
import type { PassSize } from "../options.ts";
import { forPasses } from "./passes.ts";

/** The trained tokens of some rows of a batch. */
export interface TrainedTokens {
  /** Indices of the rows in the batch. */
  readonly members: readonly number[];
  /** Where each row's trained tokens stand among all of them; the mask is 1 everywhere. */
  readonly rows: Rows;
  /** [trained] Their places in the batch. */
  readonly places: Int32Array;
}

/** What of a batch a pass needs. */
export type TokenRows = Pick<Batch, "rows" | "ids"> & Partial<Pick<Batch, "allowed">>;

/** One sequence, and which of its tokens are trained. */
export interface TokenRow {
  readonly ids: Int32Array;
  /** 1: trained. */
  readonly mask: Uint8Array;
  /** By token of the row: the ids that could be drawn there, where not all could. */
  readonly allowed?: ReadonlyMap<number, readonly number[]> | undefined;
}

/** Sequences behind each other, as a pass packs them. */
export function joinedRows(sequences: readonly TokenRow[]): TokenRows {
  const offsets = new Int32Array(sequences.length + 1);
  for (const [i, { ids }] of sequences.entries()) offsets[i + 1] = offsets[i]! + ids.length;
  const tokens = offsets[sequences.length]!;
  const ids = new Int32Array(tokens);
  const mask = new Uint8Array(tokens);
  const allowed = new Map<number, readonly number[]>();
  for (const [i, sequence] of sequences.entries()) {
    ids.set(sequence.ids, offsets[i]);
    mask.set(sequence.mask, offsets[i]);
    for (const [token, list] of sequence.allowed ?? []) allowed.set(offsets[i]! + token, list);
  }
  return { rows: { offsets, mask }, ids, allowed };
}

export function trainedTokensOf(batch: TokenRows, members: readonly number[]): TrainedTokens {
  const { offsets, mask } = batch.rows;
  const counts = members.map((row) => {
    let count = 0;
    for (let token = offsets[row]!; token < offsets[row + 1]!; token++) count += mask[token]!;
    return count;
  });
  const compact = new Int32Array(members.length + 1);
  for (const [i, count] of counts.entries()) compact[i + 1] = compact[i]! + count;
  const places = new Int32Array(compact[members.length]!);
  let at = 0;
  for (const row of members)
    for (let token = offsets[row]!; token < offsets[row + 1]!; token++)
      if (mask[token] === 1) places[at++] = token;
  return {
    members,
    rows: { offsets: compact, mask: new Uint8Array(places.length).fill(1) },
    places,
  };
}

export interface PackedRows extends TrainedTokens {
  readonly packed: PackedSequences;
  /** int64 [trained] The token before each trained one, in the packed sequence: it predicts it. */
  readonly before: Tensor;
  /** int64 [trained] Their ids. */
  readonly targets: Tensor;
  /** By trained token: the ids that could be drawn there, where not all could. */
  readonly allowed: ReadonlyMap<number, readonly number[]>;
}

/** Packs rows for one pass. The tensors belong to the caller's scope. */
export function packRows(
  batch: TokenRows,
  members: readonly number[],
  model: Pick<Model, "config" | "device">,
  size: Pick<PassSize, "sharePrefixes">,
): PackedRows {
  const trained = trainedTokensOf(batch, members);
  const { offsets } = batch.rows;
  const { device } = model;
  const packed = packSequences(
    members.map((row) => computedOf(batch, row)),
    { device, sharePrefixes: sharesPrefixes(model, size) },
  );
  const before = new BigInt64Array(trained.places.length);
  const targets = new BigInt64Array(trained.places.length);
  const allowed = new Map<number, readonly number[]>();
  for (const [i, row] of members.entries()) {
    const { offsets: compact } = trained.rows;
    for (let k = compact[i]!; k < compact[i + 1]!; k++) {
      const place = trained.places[k]!;
      before[k] = BigInt(packed.places[i]![place - offsets[row]! - 1]!);
      targets[k] = BigInt(batch.ids[place]!);
      const list = batch.allowed?.get(place);
      if (list) allowed.set(k, list);
    }
  }
  return {
    ...trained,
    packed,
    allowed,
    before: fromTypedArray(before, undefined, { device }),
    targets: fromTypedArray(targets, undefined, { device }),
  };
}

/** The tokens of a row that a pass computes: the last trained one is only foretold, and nothing follows it. */
function computedOf({ ids, rows: { offsets, mask } }: TokenRows, row: number): Int32Array {
  const last = mask.subarray(0, offsets[row + 1]!).lastIndexOf(1);
  return ids.subarray(offsets[row]!, Math.max(offsets[row]!, last));
}

function sharesPrefixes(
  { config }: Pick<Model, "config">,
  { sharePrefixes }: Pick<PassSize, "sharePrefixes">,
): boolean {
  return sharePrefixes && !hasDynamicRope(config);
}

/** Rows with trained tokens, in passes of at most so many tokens. */
export function passesOf(
  batch: TokenRows,
  members: readonly number[],
  model: Pick<Model, "config">,
  size: PassSize,
): number[][] {
  const { offsets, mask } = batch.rows;
  const useful = members.filter((row) =>
    mask.subarray(offsets[row]!, offsets[row + 1]!).includes(1),
  );
  const sequences = useful.map((row) => computedOf(batch, row));
  const passes = sharesPrefixes(model, size)
    ? familiesByTokenBudget(sequences, size.tokensPerPass)
    : byTokenBudget(
        sequences.map(({ length }) => length),
        size.tokensPerPass,
      );
  return passes.map((pass) => pass.map((i) => useful[i]!));
}

/** The indices of all rows. */
export function allRows({ rows }: TokenRows): number[] {
  return Array.from({ length: rows.offsets.length - 1 }, (_, row) => row);
}

/**
 * What a model says of the trained tokens [tokens] of some rows, 0 elsewhere, without gradients:
 * `compute` gives a number for each of them [trained].
 */
export function overTrainedTokens(
  batch: TokenRows,
  model: Model,
  size: PassSize,
  compute: (rows: PackedRows) => Tensor,
  members: readonly number[] = allRows(batch),
): Float64Array {
  const result = new Float64Array(batch.ids.length);
  forPasses(model, false, passesOf(batch, members, model, size), (pass) => {
    if (pass)
      tidy(() =>
        noGrad(() => {
          const rows = packRows(batch, pass, model, size);
          scatterInto(result, rows, compute(rows).toNumbers());
        }),
      );
  });
  return result;
}

/** The values of a batch [tokens] at the trained tokens. */
export function valuesAt(values: Float64Array, { places }: TrainedTokens): Float64Array {
  const result = new Float64Array(places.length);
  for (let i = 0; i < places.length; i++) result[i] = values[places[i]!]!;
  return result;
}

/** Puts values of trained tokens into their places of a batch [tokens]. */
export function scatterInto(
  target: Float64Array,
  { places }: TrainedTokens,
  values: ArrayLike<number>,
): void {
  for (let i = 0; i < places.length; i++) target[places[i]!] = values[i]!;
}
