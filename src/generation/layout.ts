/**
 * @file The tokens of one pass as arrays, the way the native operators take them.
 */
import type { CachedSequence } from "./cache/sequence.ts";

/** A sequence and how many of its tokens, after the computed ones, this pass computes. */
export interface Work {
  sequence: CachedSequence;
  tokens: number;
}

/** As arrays: a pass makes tensors of those that it takes. */
export interface Layout {
  /** [tokens]: the new tokens of all sequences, one after the other. */
  ids: Int32Array;
  /** [tokens]: the place of each in its sequence. */
  positions: Int32Array;
  /** [sequences + 1]: where each sequence's new tokens begin, and the end. */
  queryOffsets: Int32Array;
  /** [sequences]: tokens with the new ones. */
  lengths: Int32Array;
  /** [sequences + 1]: where each sequence's pages begin in `pages`, and the end. */
  pageOffsets: Int32Array;
  pages: Int32Array;
  /** [sequences]: the last new token of each sequence. */
  last: Int32Array;
  /** Sequences whose logits are wanted. */
  wanted: Int32Array;
}

export function layoutOf(work: readonly Work[], wanted: readonly number[]): Layout {
  let tokens = 0;
  let listed = 0;
  for (const { sequence, tokens: count } of work) {
    tokens += count;
    listed += sequence.pages.length;
  }
  const ids = new Int32Array(tokens);
  const positions = new Int32Array(tokens);
  const pages = new Int32Array(listed);
  const queryOffsets = new Int32Array(work.length + 1);
  const pageOffsets = new Int32Array(work.length + 1);
  const lengths = new Int32Array(work.length);
  const last = new Int32Array(work.length);
  let token = 0;
  let page = 0;
  for (const [i, { sequence, tokens: count }] of work.entries()) {
    const end = sequence.computed + count;
    for (let at = sequence.computed; at < end; at++) {
      ids[token] = sequence.ids[at]!;
      positions[token++] = at;
    }
    for (const own of sequence.pages) pages[page++] = own;
    queryOffsets[i + 1] = token;
    pageOffsets[i + 1] = page;
    lengths[i] = end;
    last[i] = token - 1;
  }
  return {
    ids,
    positions,
    queryOffsets,
    lengths,
    pageOffsets,
    pages,
    last,
    wanted: Int32Array.from(wanted),
  };
}
