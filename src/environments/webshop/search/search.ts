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
/** A query's further words are not looked at; Lucene refuses queries of more than 1024 terms. */
const MOST_TERMS = 1024;

/** One term of a query, on its way through its postings. */
interface Walker {
  at: number;
  readonly end: number;
  /** [impacts]: the score of each impact, for this term. */
  readonly scores: Float64Array;
  /** No posting of it scores more. */
  readonly most: number;
}

export function searcher(index: InvertedIndex): Searcher {
  const strengths = impactStrengths(index);
  const sums = new Float64Array(Math.min(WINDOW, Math.max(1, index.documents)));
  return {
    index,
    search(query, limit) {
      const walkers = walkersOf(index, strengths, query);
      return walkers.length === 0 || limit < 1 ? [] : best(index, walkers, limit, sums);
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
    return { at, end, scores, most: scores[index.best[term]!]! };
  });
  return walkers.sort((a, b) => a.most - b.most);
}

function best(
  index: InvertedIndex,
  walkers: readonly Walker[],
  limit: number,
  sums: Float64Array,
): Hit[] {
  const { postings, impacts, documents } = index;
  // reach[i]: what the i weakest terms can add together.
  const reach = [0];
  for (const { most } of walkers) reach.push(reach[reach.length - 1]! + most);
  const results = topResults(limit);
  let weak = 0;
  for (let base = 0; base < documents; base += sums.length) {
    while (weak < walkers.length && reach[weak + 1]! <= results.least()) weak++;
    if (weak === walkers.length) break;
    const limitDocument = Math.min(documents, base + sums.length);
    let any = false;
    for (let i = weak; i < walkers.length; i++) {
      const walker = walkers[i]!;
      const { end, scores } = walker;
      let { at } = walker;
      while (at < end) {
        const document = postings[at]!;
        if (document >= limitDocument) break;
        sums[document - base]! += scores[impacts[at]!]!;
        at++;
      }
      any ||= at > walker.at;
      walker.at = at;
    }
    if (!any) continue;
    const weakReach = reach[weak]!;
    for (let document = base; document < limitDocument; document++) {
      let sum = sums[document - base]!;
      if (sum === 0) continue;
      sums[document - base] = 0;
      if (sum + weakReach <= results.least()) continue;
      for (let i = weak - 1; i >= 0 && sum + reach[i + 1]! > results.least(); i--)
        sum += scoreIn(walkers[i]!, document, postings, impacts);
      results.offer(document, Math.fround(sum));
    }
  }
  return results.list();
}

/** Moves a weak term's walker to the document (they come in ascending order) and gives its score there. */
function scoreIn(
  walker: Walker,
  document: number,
  postings: Uint32Array,
  impacts: Uint16Array,
): number {
  const { end } = walker;
  let low = walker.at;
  if (low >= end) return 0;
  // Steps that double until they pass the document, then halving.
  let step = 1;
  let high = low;
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
  walker.at = low;
  return low < end && postings[low] === document ? walker.scores[impacts[low]!]! : 0;
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
