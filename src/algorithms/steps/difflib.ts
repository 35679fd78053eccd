/**
 * @file The matching blocks of Python's difflib.SequenceMatcher(None, a, b): the longest common block
 * (the earliest in a, then in b, among equals), then the same to the left and to the right of it.
 *
 * In a b of 200 characters or more, a character that makes up more than 1 % of it is "popular": it
 * starts no block, though blocks grow over it (autojunk).
 *
 * Before it grows, a block is inside a run of characters of a that are indexed (in b, and not popular).
 * So only runs that are longer than the best block so far are looked for, from their end: one character
 * that is not indexed rules out every run over it, and most characters are never seen.
 */
import type { EncodedText } from "./encoded-text.ts";

/** Where the unpopular characters of b stand: c at places[first[c]] … places[first[c + 1] − 1]. */
export interface CharacterIndex {
  /** [alphabet + 1] */
  first: Int32Array;
  places: Int32Array;
}

export function indexCharacters({ characters, histogram }: EncodedText): CharacterIndex {
  const size = characters.length;
  const popular = size >= 200 ? Math.floor(size / 100) + 1 : Number.POSITIVE_INFINITY;
  const first = new Int32Array(histogram.length + 1);
  for (let character = 0; character < histogram.length; character++) {
    const count = histogram[character]!;
    first[character + 1] = first[character]! + (count > popular ? 0 : count);
  }
  const places = new Int32Array(first[histogram.length]!);
  const next = first.slice(0, histogram.length);
  for (let place = 0; place < size; place++) {
    const character = characters[place]!;
    if (histogram[character]! <= popular) places[next[character]!++] = place;
  }
  return { first, places };
}

function isIndexed(character: number, first: Int32Array): boolean {
  return first[character + 1]! > first[character]!;
}

export interface BlockMatcher {
  /** M, the characters in matching blocks. */
  matches(a: EncodedText, b: EncodedText, index: CharacterIndex): number;
  /** Whether M is `enough` or more; undefined when that takes too long to find out. */
  hasMatches(
    a: EncodedText,
    b: EncodedText,
    index: CharacterIndex,
    enough: number,
  ): boolean | undefined;
}

/**
 * Pairs of equal characters that are looked at to decide about two texts; a tenth of a second.
 * Texts in a language take thousands, but one can be written that takes 10¹².
 */
const MOST_PAIRS = 10_000_000;

/** For texts of at most so many characters. */
export function blockMatcher(longest: number): BlockMatcher {
  // For each place of b, shifted by one so that "before the first" exists: the length of the match
  // that ends there, and for which row (character of a, counted over all calls) that holds.
  const lengths = new Int32Array(longest + 1);
  const rows = new Int32Array(longest + 1);
  let row = 0;
  let pairs = 0;
  const block = { a: 0, b: 0, size: 0 };

  /** find_longest_match on a[aLow…aHigh) and b[bLow…bHigh). */
  function findLongest(
    a: EncodedText["characters"],
    b: EncodedText["characters"],
    { first, places }: CharacterIndex,
    aLow: number,
    aHigh: number,
    bLow: number,
    bHigh: number,
  ): void {
    let bestA = aLow;
    let bestB = bLow;
    let best = 0;
    for (let start = aLow; start + best < aHigh; ) {
      let at = start + best;
      while (at >= start && isIndexed(a[at]!, first)) at--;
      if (at >= start) {
        start = at + 1;
        continue;
      }
      let end = start + best + 1;
      while (end < aHigh && isIndexed(a[end]!, first)) end++;
      row++; // matches of an earlier run, or call, end here
      for (let i = start; i < end; i++) {
        row++;
        const from = first[a[i]!]!;
        pairs += first[a[i]! + 1]! - from;
        // From the last place to the first, so that the row before is still there to be read.
        for (let p = first[a[i]! + 1]! - 1; p >= from; p--) {
          const j = places[p]!;
          if (j >= bHigh) continue;
          if (j < bLow) break;
          const length = rows[j] === row - 1 ? lengths[j]! + 1 : 1;
          lengths[j + 1] = length;
          rows[j + 1] = row;
          if (length < best || (length === best && bestA !== i - length + 1)) continue;
          bestA = i - length + 1;
          bestB = j - length + 1;
          best = length;
        }
      }
      start = end + 1;
    }
    while (bestA > aLow && bestB > bLow && a[bestA - 1] === b[bestB - 1]) {
      bestA--;
      bestB--;
      best++;
    }
    while (bestA + best < aHigh && bestB + best < bHigh && a[bestA + best] === b[bestB + best])
      best++;
    block.a = bestA;
    block.b = bestB;
    block.size = best;
  }

  /** Blocks, until `enough` is decided or more than `most` pairs were looked at. */
  function search(
    a: EncodedText,
    b: EncodedText,
    index: CharacterIndex,
    enough: number | undefined,
    most: number,
  ): { found: number; isCertain: boolean } {
    if (row > 2 ** 30) {
      rows.fill(0);
      row = 0;
    }
    pairs = 0;
    const open = [0, a.characters.length, 0, b.characters.length];
    let found = 0;
    // What the open stretches could still give.
    let possible = Math.min(a.characters.length, b.characters.length);
    while (open.length > 0) {
      if (enough !== undefined && (found >= enough || found + possible < enough)) break;
      if (pairs > most) return { found, isCertain: false };
      const [aLow, aHigh, bLow, bHigh] = open.splice(-4) as [number, number, number, number];
      possible -= Math.min(aHigh - aLow, bHigh - bLow);
      findLongest(a.characters, b.characters, index, aLow, aHigh, bLow, bHigh);
      const { a: aStart, b: bStart, size } = block;
      if (size === 0) continue;
      found += size;
      const left = Math.min(aStart - aLow, bStart - bLow);
      const right = Math.min(aHigh - aStart, bHigh - bStart) - size;
      if (left > 0) open.push(aLow, aStart, bLow, bStart);
      if (right > 0) open.push(aStart + size, aHigh, bStart + size, bHigh);
      possible += left + right;
    }
    return { found, isCertain: true };
  }

  return {
    matches: (a, b, index) => search(a, b, index, undefined, Number.POSITIVE_INFINITY).found,
    hasMatches(a, b, index, enough) {
      const { found, isCertain } = search(a, b, index, enough, MOST_PAIRS);
      return isCertain ? found >= enough : undefined;
    },
  };
}
