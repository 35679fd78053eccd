/**
 * @file The best documents of a query by BM25, exactly, in the order of Lucene: by score, then by
 * document number.
 *
 * The documents are gone through in windows, in which scores are added up term by term. Once there are
 * enough results, terms that cannot lift a document into them even all together ("weak" ones) are no
 * longer gone through but looked up, and only for documents that could still make it (MaxScore: Turtle
 * and Flood, 1995). Scores are 32-bit numbers as in Lucene; their sum in 64 bits is exact, so the order
 * of the terms does not matter.
 */
import { termsOf } from "./analysis.ts";
import { type InvertedIndex, impactStrengths } from "./inverted-index.ts";

export interface Hit {
  readonly document: number;
  readonly score: number;
}

export interface Searcher {
  readonly index: InvertedIndex;
  /** The `limit` best documents that have any of the words. */
  search(query: string, limit: number): Hit[];
}

/** Documents per window: their scores fit into the processor's cache. */
const WINDOW = 1 << 14;
/** Looking up one document costs about as much as going through so many postings. */
const LOOKUP_COST = 16;
/** A query's further words are not looked at; Lucene refuses queries of more than 1024 terms. */
const MOST_TERMS = 1024;

/** One term of a query, on its way through its postings. */
interface Walker {
  at: number;
  readonly start: number;
  readonly end: number;
  /** [impacts]: the score of each impact, for this term. */
  readonly scores: Float64Array;
  /** No posting of it scores more. */
  readonly most: number;
}

/** Memory that all searches use in turn. */
interface Workspace {
  /** [window]: the scores so far. */
  readonly sums: Float64Array;
  /** [window / 32]: a bit for each document that has a score. */
  readonly marks: Int32Array;
  /** [window]: documents of the window that may be among the best. */
  readonly candidates: Uint32Array;
}

export function searcher(index: InvertedIndex): Searcher {
  const strengths = impactStrengths(index);
  const window = Math.min(WINDOW, Math.max(1, index.documents));
  const workspace = {
    sums: new Float64Array(window),
    marks: new Int32Array(Math.ceil(window / 32)),
    candidates: new Uint32Array(window),
  };
  return {
    index,
    search(query, limit) {
      const walkers = walkersOf(index, strengths, query);
      return walkers.length === 0 || limit < 1 ? [] : best(index, walkers, limit, workspace);
    },
  };
}

function walkersOf(index: InvertedIndex, strengths: Float32Array, query: string): Walker[] {
  const { terms, starts, documents } = index;
  const counts = new Map<number, number>();
  for (const text of termsOf(query)) {
    const term = terms.get(text);
    if (term === undefined || (counts.size >= MOST_TERMS && !counts.has(term))) continue;
    counts.set(term, (counts.get(term) ?? 0) + 1);
  }
  const walkers = [...counts].map(([term, count]): Walker => {
    const [at, end] = [starts[term]!, starts[term + 1]!];
    const frequency = end - at;
    const rarity = Math.fround(Math.log(1 + (documents - frequency + 0.5) / (frequency + 0.5)));
    const weight = Math.fround(rarity * count);
    const scores = new Float64Array(strengths.length);
    for (let i = 0; i < scores.length; i++)
      scores[i] = Math.fround(weight - weight / (1 + strengths[i]!));
    return { at, start: at, end, scores, most: scores[index.best[term]!]! };
  });
  return walkers.sort((a, b) => a.most - b.most);
}

function best(
  index: InvertedIndex,
  walkers: readonly Walker[],
  limit: number,
  { sums, marks, candidates }: Workspace,
): Hit[] {
  const { documents } = index;
  // reach[i]: what the i weakest terms can add together.
  const reach = [0];
  for (const { most } of walkers) reach.push(reach[reach.length - 1]! + most);
  const results = topResults(limit);
  let weak = 0;
  for (let base = 0; base < documents; base += sums.length) {
    while (weak < walkers.length && reach[weak + 1]! <= results.least()) weak++;
    if (weak === walkers.length) break;
    const end = Math.min(documents, base + sums.length);
    for (let i = weak; i < walkers.length; i++) addAll(walkers[i]!, index, base, end, sums, marks);
    let count = collect(sums, marks, candidates, results.least() - reach[weak]!);
    for (let i = weak - 1; i >= 0 && count > 0; i--) {
      addToCandidates(walkers[i]!, index, base, end, sums, candidates, count);
      count = keepAbove(sums, candidates, count, results.least() - reach[i]!);
    }
    for (let i = 0; i < count; i++) {
      const place = candidates[i]!;
      results.offer(base + place, Math.fround(sums[place]!));
      sums[place] = 0;
    }
  }
  return results.list();
}

/** Adds the scores of a term to all documents of the window that have it, and marks them. */
function addAll(
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
function collect(
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

function keepAbove(
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
function addToCandidates(
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

/** The best so far. Documents are offered in ascending order, so an equal score never replaces one. */
function topResults(limit: number): {
  least(): number;
  offer(document: number, score: number): void;
  list(): Hit[];
} {
  /** Best first. */
  const hits: Hit[] = [];
  let least = 0;
  return {
    /** A document must score more than this. */
    least: () => least,
    offer(document, score) {
      if (score <= least) return;
      let low = 0;
      let high = hits.length;
      while (low < high) {
        const middle = (low + high) >>> 1;
        if (hits[middle]!.score >= score) low = middle + 1;
        else high = middle;
      }
      hits.splice(low, 0, { document, score });
      if (hits.length > limit) hits.pop();
      if (hits.length === limit) least = hits[limit - 1]!.score;
    },
    list: () => hits,
  };
}
