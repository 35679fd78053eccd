/**
 * @file The inverted index in typed arrays, and how it is built.
 *
 * A posting is a document and an impact. An impact stands for a pair (how often the term is in the
 * document, the document's length code): there are few different pairs, so a query computes the score
 * of each pair once, and a posting's score is a look into a table.
 */
import { termOf } from "./analysis.ts";
import { lengthCode, lengthOfCode } from "./lengths.ts";
import { eachWord } from "./tokenizer.ts";

/** BM25's constants, as Anserini sets them. */
export const K1 = 0.9;
export const B = 0.4;

/** All of it is plain data: it can be written to a file and read back (index-file.ts). */
export interface InvertedIndex {
  readonly documents: number;
  /** Of the documents that have words, in words. */
  readonly averageLength: number;
  /** Term to its number. */
  readonly terms: ReadonlyMap<string, number>;
  /** [terms + 1]: the postings of term t are starts[t] to starts[t + 1]. */
  readonly starts: Uint32Array;
  /** [postings]: document numbers, ascending within a term. */
  readonly postings: Uint32Array;
  /** [postings]: the impact of each. */
  readonly impacts: Uint16Array;
  /** [terms]: the largest of its impacts, by score. */
  readonly best: Uint16Array;
  /** [impacts]: how often the term is there. */
  readonly impactCounts: Uint32Array;
  /** [impacts]: the document's length code. */
  readonly impactLengths: Uint8Array;
}

export interface IndexBuilder {
  /** The next document. */
  add(text: string): void;
  /** The index; the builder is used up. */
  finish(): InvertedIndex;
}

/** Entries are collected in pieces of this size, so that growing copies nothing. */
const PIECE = 1 << 22;
const MOST_IMPACTS = 0xffff;
const STOPPED = -1;

export function indexBuilder(): IndexBuilder {
  const terms = new Map<string, number>();
  /** A word as written to its term: analysing a word happens once. */
  const words = new Map<string, number>();
  const impacts = new Map<number, number>();
  const impactCounts: number[] = [];
  const impactLengths: number[] = [];
  const pieces: { terms: Uint32Array; impacts: Uint16Array }[] = [];
  let filled = PIECE;
  let entries = 0;
  /** [documents]: how many entries each has. */
  let sizes = new Uint32Array(1024);
  let documents = 0;
  let nonEmpty = 0;
  let totalLength = 0;
  /** [terms]: how many documents have it, and how often the current document does. */
  let frequencies = new Uint32Array(1024);
  let counts = new Uint32Array(1024);

  const numberOf = (word: string): number => {
    const text = termOf(word);
    if (text === undefined) return STOPPED;
    let term = terms.get(text);
    if (term === undefined) {
      term = terms.size;
      terms.set(unshared(text), term);
      if (term >= counts.length) {
        counts = doubled(counts);
        frequencies = doubled(frequencies);
      }
    }
    return term;
  };
  const impactOf = (count: number, code: number): number => {
    const key = count * 256 + code;
    const known = impacts.get(key);
    if (known !== undefined) return known;
    if (impactCounts.length >= MOST_IMPACTS) return impactOf(Math.ceil(count / 2), code);
    impacts.set(key, impactCounts.length);
    impactCounts.push(count);
    impactLengths.push(code);
    return impactCounts.length - 1;
  };
  return {
    add(text) {
      const found: number[] = [];
      let length = 0;
      eachWord(text, (start, end) => {
        const word = text.slice(start, end);
        let term = words.get(word);
        if (term === undefined) {
          term = numberOf(word);
          words.set(unshared(word), term);
        }
        if (term === STOPPED) return;
        length++;
        if (counts[term]!++ === 0) found.push(term);
      });
      const code = lengthCode(length);
      for (const term of found) {
        if (filled === PIECE) {
          pieces.push({ terms: new Uint32Array(PIECE), impacts: new Uint16Array(PIECE) });
          filled = 0;
        }
        const piece = pieces[pieces.length - 1]!;
        piece.terms[filled] = term;
        piece.impacts[filled++] = impactOf(counts[term]!, code);
        counts[term] = 0;
        frequencies[term]!++;
      }
      if (documents >= sizes.length) sizes = doubled(sizes);
      sizes[documents++] = found.length;
      entries += found.length;
      if (entries > 0xffffffff) throw new RangeError("An index holds at most 2^32 postings.");
      totalLength += length;
      if (length > 0) nonEmpty++;
    },
    finish() {
      words.clear();
      const starts = new Uint32Array(terms.size + 1);
      for (let term = 0; term < terms.size; term++)
        starts[term + 1] = starts[term]! + frequencies[term]!;
      const next = starts.slice();
      const postings = new Uint32Array(entries);
      const placed = new Uint16Array(entries);
      let document = 0;
      let left = sizes[0]!;
      for (let at = 0; at < pieces.length; at++) {
        const piece = pieces[at]!;
        const end = at === pieces.length - 1 ? filled : PIECE;
        for (let i = 0; i < end; i++) {
          while (left === 0) left = sizes[++document]!;
          left--;
          const place = next[piece.terms[i]!]!++;
          postings[place] = document;
          placed[place] = piece.impacts[i]!;
        }
        // Read: give it back before the next one is needed.
        pieces[at] = { terms: new Uint32Array(0), impacts: new Uint16Array(0) };
      }
      const parts = {
        documents,
        averageLength: nonEmpty > 0 ? totalLength / nonEmpty : 1,
        ...{ terms, starts, postings, impacts: placed },
        impactCounts: Uint32Array.from(impactCounts),
        impactLengths: Uint8Array.from(impactLengths),
      };
      return { ...parts, best: bestImpacts(parts) };
    },
  };
}

/** [impacts]: count / (k1 · length factor), the part of the score that does not depend on the term. */
export function impactStrengths(
  index: Pick<InvertedIndex, "averageLength" | "impactCounts" | "impactLengths">,
): Float32Array {
  const { averageLength, impactCounts, impactLengths } = index;
  const inverses = Float32Array.from(
    { length: 256 },
    (_, code) => 1 / (K1 * (1 - B + (B * lengthOfCode(code)) / averageLength)),
  );
  return Float32Array.from(impactCounts, (count, i) => count * inverses[impactLengths[i]!]!);
}

function bestImpacts(index: Omit<InvertedIndex, "best">): Uint16Array {
  const strengths = impactStrengths(index);
  const { starts, impacts, terms } = index;
  const best = new Uint16Array(terms.size);
  for (let term = 0; term < terms.size; term++) {
    let winner = impacts[starts[term]!]!;
    for (let i = starts[term]! + 1; i < starts[term + 1]!; i++)
      if (strengths[impacts[i]!]! > strengths[winner]!) winner = impacts[i]!;
    best[term] = winner;
  }
  return best;
}

function doubled(array: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(array.length * 2);
  larger.set(array);
  return larger;
}

/** A copy that does not keep the whole text alive from which it was cut (V8 shares from 13 on). */
function unshared(text: string): string {
  return text.length < 13 ? text : Buffer.from(text, "utf16le").toString("utf16le");
}
