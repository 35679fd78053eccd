/**
 * @file Adding up scores in one window of documents: first of the strong terms, then of the weak ones,
 * for those documents that may still be among the best.
 */
import type { InvertedIndex } from "./inverted-index.ts";

/** Looking up one document costs about as much as going through so many postings. */
const LOOKUP_COST = 16;

/** One term of a query, on its way through its postings. */
export interface Walker {
  at: number;
  readonly start: number;
  readonly end: number;
  /** [impacts]: the score of each impact, for this term. */
  readonly scores: Float64Array;
  /** No posting of it scores more. */
  readonly most: number;
}

/** Memory that all searches use in turn. */
export interface Workspace {
  /** [window]: the scores so far. */
  readonly sums: Float64Array;
  /** [window / 32]: a bit for each document that has a score. */
  readonly marks: Int32Array;
  /** [window]: documents of the window that may be among the best. */
  readonly candidates: Uint32Array;
}

/** Adds the scores of a term to all documents of the window that have it, and marks them. */
export function addAll(
  walker: Walker,
  { postings, impacts }: InvertedIndex,
  base: number,
  limit: number,
  sums: Float64Array,
  marks: Int32Array,
): void {
  const { end, scores } = walker;
  let at = walker.at;
  while (at < end) {
    const document = postings[at]!;
    if (document >= limit) break;
    const place = document - base;
    sums[place]! += scores[impacts[at]!]!;
    marks[place >> 5]! |= 1 << place;
    at++;
  }
  walker.at = at;
}

/** The marked documents whose sum is above the bar, in order; the other sums and all marks become 0. */
export function collect(
  sums: Float64Array,
  marks: Int32Array,
  candidates: Uint32Array,
  bar: number,
): number {
  let count = 0;
  for (let word = 0; word < marks.length; word++) {
    let bits = marks[word]!;
    if (bits === 0) continue;
    marks[word] = 0;
    while (bits !== 0) {
      const lowest = 31 - Math.clz32(bits & -bits);
      bits &= bits - 1;
      const place = word * 32 + lowest;
      if (sums[place]! > bar) candidates[count++] = place;
      else sums[place] = 0;
    }
  }
  return count;
}

export function keepAbove(
  sums: Float64Array,
  candidates: Uint32Array,
  count: number,
  bar: number,
): number {
  let kept = 0;
  for (let i = 0; i < count; i++) {
    const place = candidates[i]!;
    if (sums[place]! > bar) candidates[kept++] = place;
    else sums[place] = 0;
  }
  return kept;
}

/** Adds the scores of a weak term to the candidates: by going through it or, for few, by looking it up. */
export function addToCandidates(
  walker: Walker,
  { postings, impacts, documents }: InvertedIndex,
  base: number,
  limit: number,
  sums: Float64Array,
  candidates: Uint32Array,
  count: number,
): void {
  const { end, scores } = walker;
  let at = firstFrom(postings, walker.at, end, base);
  const expected = ((end - walker.start) / documents) * (limit - base);
  if (count * LOOKUP_COST < expected) {
    for (let i = 0; i < count && at < end; i++) {
      const place = candidates[i]!;
      at = firstFrom(postings, at, end, base + place);
      if (at < end && postings[at] === base + place) sums[place]! += scores[impacts[at]!]!;
    }
  } else {
    while (at < end) {
      const document = postings[at]!;
      if (document >= limit) break;
      // Only candidates have a sum.
      if (sums[document - base] !== 0) sums[document - base]! += scores[impacts[at]!]!;
      at++;
    }
  }
  walker.at = at;
}

/** The first posting from `from` on whose document is not before `document`. */
function firstFrom(postings: Uint32Array, from: number, end: number, document: number): number {
  // Steps that double until they pass the document, then halving.
  let low = from;
  let high = from;
  let step = 1;
  while (high < end && postings[high]! < document) {
    low = high + 1;
    high += step;
    step *= 2;
  }
  if (high > end) high = end;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (postings[middle]! < document) low = middle + 1;
    else high = middle;
  }
  return low;
}
