/**
 * @file A small search engine: BM25 over documents in memory.
 */
import type { Document } from "./corpus.ts";

export interface Hit {
  readonly document: Document;
  readonly score: number;
}

/** BM25's usual constants: how soon repetition stops counting, how much length counts. */
const REPETITION = 1.2;
const LENGTH = 0.75;
const MOST_WORDS = 64;
/** Characters of a query that are read. */
const LONGEST_QUERY = 10_000;

export interface SearchIndex {
  readonly size: number;
  /** The best documents that have a word of the query, best first; equal ones in their own order. */
  search(query: string, count: number): readonly Hit[];
}

export function searchIndex(documents: readonly Document[]): SearchIndex {
  /** For each word the documents that have it and how often, one after the other. */
  const places = new Map<string, number[]>();
  const lengths = new Float64Array(documents.length);
  for (const [number, { title, text }] of documents.entries()) {
    const counts = new Map<string, number>();
    // A title says what a document is about: its words count twice.
    const words = [...wordsOf(title), ...wordsOf(title), ...wordsOf(text)];
    for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
    lengths[number] = words.length;
    for (const [word, count] of counts) {
      const list = places.get(word);
      if (list) list.push(number, count);
      else places.set(word, [number, count]);
    }
  }
  const mean =
    lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, documents.length) || 1;
  return {
    size: documents.length,
    search(query, count) {
      const scores = new Map<number, number>();
      for (const word of new Set(wordsOf(query.slice(0, LONGEST_QUERY)).slice(0, MOST_WORDS))) {
        const list = places.get(word) ?? [];
        const found = list.length / 2;
        const rarity = Math.log(1 + (documents.length - found + 0.5) / (found + 0.5));
        for (let i = 0; i < list.length; i += 2) {
          const [number, times] = [list[i]!, list[i + 1]!];
          const norm = REPETITION * (1 - LENGTH + (LENGTH * lengths[number]!) / mean);
          const gain = (rarity * times * (REPETITION + 1)) / (times + norm);
          scores.set(number, (scores.get(number) ?? 0) + gain);
        }
      }
      return [...scores]
        .sort(([a, x], [b, y]) => y - x || a - b)
        .slice(0, count)
        .map(([number, score]) => ({ document: documents[number]!, score }));
    },
  };
}

/** Words in lower case, without accents; English plurals and possessives lose their s. */
export function wordsOf(text: string): string[] {
  const plain = text
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/['’]s\b/g, "");
  return (plain.match(/[\p{L}\p{N}]+/gu) ?? []).map((word) =>
    word.length > 3 && /[^su]s$/.test(word) ? word.slice(0, -1) : word,
  );
}
