/**
 * @file Byte-pair encoding learned from word counts: the most frequent pair of neighbours becomes a
 * token, again and again.
 *
 * Counts are kept up to date instead of counted anew, and a heap gives the next pair; where two pairs
 * are equally frequent, the one with the lower ids wins. That is what Hugging Face's trainer does
 * too, so both learn the same merges from the same text.
 */
import { BYTE_CHARACTERS } from "./byte-alphabet.ts";
import { Heap } from "./heap.ts";

export interface Merges {
  /** Tokens by id: the 256 bytes, then each merge's result. */
  vocabulary: string[];
  /** In the order in which they are applied. */
  merges: [string, string][];
}

interface Pair {
  left: number;
  right: number;
  /** As it was when the pair was put on the heap. */
  count: number;
}

export interface MergeOptions {
  /** Tokens to reach; fewer if the text has not enough pairs. */
  size: number;
  /** Pairs below this are left alone. */
  minimumCount: number;
  /** Longer tokens are not made, in bytes. */
  maximumTokenBytes: number;
}

/** Ids up to this fit into a pair's key. */
const KEY_BASE = 2 ** 21;
const keyOf = (left: number, right: number): number => left * KEY_BASE + right;

export function learnMerges(
  wordCounts: ReadonlyMap<string, number>,
  { size, minimumCount, maximumTokenBytes }: MergeOptions,
): Merges {
  // GPT-2's order of the bytes: by their characters.
  const vocabulary = [...BYTE_CHARACTERS].sort();
  const ids = new Map(vocabulary.map((token, id) => [token, id]));
  const words = [...wordCounts.keys()].map((word) => bytesAsIds(word, ids));
  const weights = [...wordCounts.values()];
  const pairs = new PairCounts(words, weights);
  const merges = new Map<string, [string, string]>();

  while (vocabulary.length < size) {
    const pair = pairs.mostFrequent();
    if (pair === undefined || pair.count < minimumCount) break;
    const left = vocabulary[pair.left]!;
    const right = vocabulary[pair.right]!;
    const token = left + right;
    if (token.length > maximumTokenBytes) continue;
    // Two ways may lead to the same token; it has one id.
    const id = ids.get(token) ?? vocabulary.push(token) - 1;
    ids.set(token, id);
    // A merged pair can come back when another way leads to one of its halves: its rank stays.
    const name = `${left} ${right}`;
    if (!merges.has(name)) merges.set(name, [left, right]);
    pairs.merge(pair, id);
  }
  return { vocabulary, merges: [...merges.values()] };
}

function bytesAsIds(word: string, ids: ReadonlyMap<string, number>): number[] {
  return Array.from(new TextEncoder().encode(word), (byte) => ids.get(BYTE_CHARACTERS[byte]!)!);
}

/** How often each pair of neighbours occurs, and where. */
class PairCounts {
  readonly #words: number[][];
  readonly #weights: readonly number[];
  readonly #counts = new Map<number, number>();
  /** Words in which a pair occurs, or did once; a word may be listed twice. */
  readonly #places = new Map<number, number[]>();
  readonly #heap = new Heap<Pair>(
    (a, b) =>
      a.count > b.count ||
      (a.count === b.count && (a.left < b.left || (a.left === b.left && a.right < b.right))),
  );

  constructor(words: number[][], weights: readonly number[]) {
    this.#words = words;
    this.#weights = weights;
    words.forEach((word, index) => {
      for (let i = 0; i + 1 < word.length; i++)
        this.#add(word[i]!, word[i + 1]!, weights[index]!, index);
    });
    for (const key of this.#counts.keys()) this.#offer(key);
  }

  /** Takes the most frequent pair off the heap. Entries whose count has changed go back. */
  mostFrequent(): Pair | undefined {
    for (;;) {
      const pair = this.#heap.pop();
      if (pair === undefined) return undefined;
      const key = keyOf(pair.left, pair.right);
      const count = this.#counts.get(key) ?? 0;
      if (count === pair.count) return pair;
      if (count > 0 && count < pair.count) this.#offer(key);
    }
  }

  /** Replaces a pair by one token, everywhere. */
  merge({ left, right }: Pair, token: number): void {
    const key = keyOf(left, right);
    const grown = new Set<number>();
    for (const index of new Set(this.#places.get(key)))
      this.#mergeInWord(index, left, right, token, grown);
    this.#places.delete(key);
    this.#counts.delete(key);
    for (const changed of grown) this.#offer(changed);
  }

  #mergeInWord(
    index: number,
    left: number,
    right: number,
    token: number,
    grown: Set<number>,
  ): void {
    const word = this.#words[index]!;
    const weight = this.#weights[index]!;
    let length = 0;
    for (let i = 0; i < word.length; i++) {
      if (word[i] !== left || word[i + 1] !== right) {
        word[length++] = word[i]!;
        continue;
      }
      // The neighbours now meet the new token; the one before may itself be a fresh merge.
      if (length > 0) {
        const before = word[length - 1]!;
        this.#subtract(before, left, weight);
        grown.add(this.#add(before, token, weight, index));
      }
      if (i + 2 < word.length) {
        const after = word[i + 2]!;
        this.#subtract(right, after, weight);
        grown.add(this.#add(token, after, weight, index));
      }
      word[length++] = token;
      i++;
    }
    word.length = length;
  }

  #add(left: number, right: number, weight: number, index: number): number {
    const key = keyOf(left, right);
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + weight);
    const places = this.#places.get(key);
    if (places === undefined) this.#places.set(key, [index]);
    else if (places.at(-1) !== index) places.push(index);
    return key;
  }

  #subtract(left: number, right: number, weight: number): void {
    const key = keyOf(left, right);
    this.#counts.set(key, (this.#counts.get(key) ?? 0) - weight);
  }

  #offer(key: number): void {
    const count = this.#counts.get(key) ?? 0;
    if (count > 0)
      this.#heap.push({ left: Math.floor(key / KEY_BASE), right: key % KEY_BASE, count });
  }
}
