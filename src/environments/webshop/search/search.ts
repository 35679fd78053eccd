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
import { type Hit, topResults } from "./top-results.ts";
import {
  addAll,
  addToCandidates,
  collect,
  keepAbove,
  type Walker,
  type Workspace,
} from "./window.ts";

export interface Searcher {
  readonly index: InvertedIndex;
  /** The `limit` best documents that have any of the words. */
  search(query: string, limit: number): Hit[];
}

/** Documents per window: their scores fit into the processor's cache. */
const WINDOW = 1 << 14;
/** A query's further words are not looked at; Lucene refuses queries of more than 1024 terms. */
const MOST_TERMS = 1024;

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
