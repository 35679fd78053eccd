/**
 * @file The tokens of one pass as arrays, the way the native operators take them.
 */
import type { CachedSequence } from "./cache/sequence.ts";

/** A sequence and how many of its tokens, after the computed ones, this pass computes. */
export interface Work {
  sequence: CachedSequence;
  tokens: number;
  /** What may come after its last token: computed too, and wanted with it. */
  guesses?: readonly number[];
}

/** As arrays: a pass makes tensors of those that it takes. */
export interface Layout {
  /** [tokens] The new tokens of all sequences, one after the other. */
  ids: Int32Array;
  /** [tokens] The place of each in its sequence. */
  positions: Int32Array;
  /** [sequences + 1] Where each sequence's new tokens begin, and the end. */
  queryOffsets: Int32Array;
  /** [sequences] Tokens with the new ones. */
  lengths: Int32Array;
  /** [sequences + 1] Where each sequence's pages begin in `pages`, and the end. */
  pageOffsets: Int32Array;
  pages: Int32Array;
  /** Tokens whose logits are wanted, as they lie in `ids`. */
  wanted: Int32Array;
}

const NONE: readonly number[] = [];

/** `wanted` are indices into `work`: of each, the logits after its last token and after every guess. */
export function layoutOf(work: readonly Work[], wanted: readonly number[]): Layout {
  let tokens = 0;
  let listed = 0;
  for (const { sequence, tokens: count, guesses = NONE } of work) {
    tokens += count + guesses.length;
    listed += sequence.pages.length;
  }
  const ids = new Int32Array(tokens);
  const positions = new Int32Array(tokens);
  const pages = new Int32Array(listed);
  const queryOffsets = new Int32Array(work.length + 1);
  const pageOffsets = new Int32Array(work.length + 1);
  const lengths = new Int32Array(work.length);
  let token = 0;
  let page = 0;
  for (const [i, { sequence, tokens: count, guesses = NONE }] of work.entries()) {
    const end = sequence.computed + count;
    for (let at = sequence.computed; at < end; at++) {
      ids[token] = sequence.ids[at]!;
      positions[token++] = at;
    }
    for (const [ahead, guess] of guesses.entries()) {
      ids[token] = guess;
      positions[token++] = end + ahead;
    }
    for (const own of sequence.pages) pages[page++] = own;
    queryOffsets[i + 1] = token;
    pageOffsets[i + 1] = page;
    lengths[i] = end + guesses.length;
  }
  const rows = wanted.flatMap((i) => {
    const places = 1 + (work[i]!.guesses?.length ?? 0);
    return Array.from({ length: places }, (_, k) => queryOffsets[i + 1]! - places + k);
  });
  return {
    ids,
    positions,
    queryOffsets,
    lengths,
    pageOffsets,
    pages,
    wanted: Int32Array.from(rows),
  };
}
