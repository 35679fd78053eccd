/**
 * @file Similarity of texts, as Python's difflib.SequenceMatcher(None, a, b).ratio() has it.
 *
 *   ratio = 2·M / (|a| + |b|)      M: characters in matching blocks
 *
 * Matching blocks: the longest common block (the earliest in a, then in b, among equals), then the
 * same to the left and to the right of it. In a b of 200 characters or more, a character that makes up
 * more than 1 % of it is "popular" and starts no block, though blocks grow over it (difflib's
 * autojunk). The ratio is not symmetric. Characters are code points, as in Python.
 *
 * `atLeast` decides ratio ≥ threshold without always computing it: M is at most the shorter length, at
 * most the characters that both have (difflib's real_quick_ratio and quick_ratio), at most the longest
 * common subsequence, and at most what was found plus what the open stretches could still give.
 */
import { characterBits, mayAlign } from "./common-subsequence.ts";

export interface TextMatcher {
  /** The ratio of texts a and b, by their numbers. */
  ratio(a: number, b: number): number;
  /** ratio(a, b) ≥ threshold, mostly much faster. */
  atLeast(a: number, b: number, threshold: number): boolean;
}

interface Encoded {
  /** [length] Characters, as numbers of the alphabet that all texts share. */
  characters: Uint16Array | Uint32Array;
  /** [alphabet] How often each character occurs. */
  histogram: Uint32Array;
  /** Made when the text is first the second one of a comparison. */
  index: Index | undefined;
  bits: Int32Array | undefined;
}

/** Where the unpopular characters stand: those of character c at places[first[c]] … places[first[c + 1] − 1]. */
interface Index {
  /** [alphabet + 1] */
  first: Uint32Array;
  places: Uint32Array;
}

/** Compares the given texts with each other. */
export function textMatcher(texts: readonly string[]): TextMatcher {
  const encoded = encode(texts);
  const longest = encoded.reduce((most, text) => Math.max(most, text.characters.length), 0);
  // Lengths of the matches that end at each place of b, for the previous and the current character
  // of a, shifted by one so that "before the first place" exists. All 0 between calls.
  let before = new Uint32Array(longest + 1);
  let current = new Uint32Array(longest + 1);
  const block = { a: 0, b: 0, size: 0 };
  const state = new Int32Array(longest); // more than enough for mayAlign

  /** difflib's find_longest_match, on a[aLow…aHigh) and b[bLow…bHigh). */
  function findLongest(
    a: Encoded,
    b: Encoded,
    aLow: number,
    aHigh: number,
    bLow: number,
    bHigh: number,
  ): void {
    const { first, places } = indexOf(b);
    let bestA = aLow;
    let bestB = bLow;
    let best = 0;
    let touchedFrom = 0; // the stretch of `places` whose entries in `before` are not 0
    let touchedTo = 0;
    for (let i = aLow; i < aHigh; i++) {
      const character = a.characters[i]!;
      let from = first[character]!;
      let to = first[character + 1]!;
      while (from < to && places[from]! < bLow) from++;
      while (to > from && places[to - 1]! >= bHigh) to--;
      for (let p = from; p < to; p++) {
        const j = places[p]!;
        const length = before[j]! + 1;
        current[j + 1] = length;
        if (length > best) {
          bestA = i - length + 1;
          bestB = j - length + 1;
          best = length;
        }
      }
      for (let p = touchedFrom; p < touchedTo; p++) before[places[p]! + 1] = 0;
      const swap = before;
      before = current;
      current = swap;
      touchedFrom = from;
      touchedTo = to;
    }
    for (let p = touchedFrom; p < touchedTo; p++) before[places[p]! + 1] = 0;
    while (bestA > aLow && bestB > bLow && a.characters[bestA - 1] === b.characters[bestB - 1]) {
      bestA--;
      bestB--;
      best++;
    }
    while (
      bestA + best < aHigh &&
      bestB + best < bHigh &&
      a.characters[bestA + best] === b.characters[bestB + best]
    )
      best++;
    block.a = bestA;
    block.b = bestB;
    block.size = best;
  }

  /** M; or with `enough`, as soon as it is certain, any number on the same side of that. */
  function matches(a: Encoded, b: Encoded, enough?: number): number {
    const open = [0, a.characters.length, 0, b.characters.length];
    let found = 0;
    let possible = Math.min(a.characters.length, b.characters.length);
    while (open.length > 0) {
      if (enough !== undefined && (found >= enough || found + possible < enough)) break;
      const [aLow, aHigh, bLow, bHigh] = open.splice(-4) as [number, number, number, number];
      possible -= Math.min(aHigh - aLow, bHigh - bLow);
      findLongest(a, b, aLow, aHigh, bLow, bHigh);
      const { size } = block;
      if (size === 0) continue;
      const aEnd = block.a + size;
      const bEnd = block.b + size;
      found += size;
      if (aLow < block.a && bLow < block.b) {
        open.push(aLow, block.a, bLow, block.b);
        possible += Math.min(block.a - aLow, block.b - bLow);
      }
      if (aEnd < aHigh && bEnd < bHigh) {
        open.push(aEnd, aHigh, bEnd, bHigh);
        possible += Math.min(aHigh - aEnd, bHigh - bEnd);
      }
    }
    return found;
  }

  return {
    ratio(a, b) {
      const length = encoded[a]!.characters.length + encoded[b]!.characters.length;
      if (length === 0) return 1;
      return (2 * matches(encoded[a]!, encoded[b]!)) / length;
    },
    atLeast(a, b, threshold) {
      const first = encoded[a]!;
      const second = encoded[b]!;
      const length = first.characters.length + second.characters.length;
      if (length === 0) return 1 >= threshold;
      const enough = fewestMatches(length, threshold);
      if (Math.min(first.characters.length, second.characters.length) < enough) return false;
      if (!mayShare(first.histogram, second.histogram, length - 2 * enough)) return false;
      second.bits ??= characterBits(second.characters, second.histogram.length);
      const input = {
        a: first.characters,
        bits: second.bits,
        lengthOfB: second.characters.length,
        aloneA: first.characters.length - enough,
        aloneB: second.characters.length - enough,
      };
      return mayAlign(input, state) && matches(first, second, enough) >= enough;
    },
  };
}

/** The smallest M with 2·M / length ≥ threshold, in the arithmetic of the ratio itself. */
function fewestMatches(length: number, threshold: number): number {
  let fewest = Math.max(0, Math.floor((threshold * length) / 2) - 1);
  while ((2 * fewest) / length < threshold) fewest++;
  return fewest;
}

/** Whether at most `most` characters of both texts together have no partner in the other. */
function mayShare(a: Uint32Array, b: Uint32Array, most: number): boolean {
  let alone = 0;
  for (let character = 0; character < a.length; character++) {
    alone += Math.abs(a[character]! - b[character]!);
    if (alone > most) return false;
  }
  return true;
}

function encode(texts: readonly string[]): Encoded[] {
  const numbers = new Map<number, number>(); // code point to number
  const latin = new Int32Array(256).fill(-1); // the same for the frequent ones, faster
  const number = (point: number): number => {
    if (point < 256 && latin[point]! >= 0) return latin[point]!;
    let found = numbers.get(point);
    if (found === undefined) {
      found = numbers.size;
      numbers.set(point, found);
      if (point < 256) latin[point] = found;
    }
    return found;
  };
  const all = texts.map((text) => {
    const characters = new Uint32Array(text.length);
    let length = 0;
    for (let i = 0; i < text.length; i++) {
      let point = text.charCodeAt(i);
      if (point >= 0xd800 && point < 0xdc00) {
        point = text.codePointAt(i)!;
        if (point > 0xffff) i++;
      }
      characters[length++] = number(point);
    }
    return characters.subarray(0, length);
  });
  return all.map((wide) => {
    const histogram = new Uint32Array(numbers.size);
    for (const character of wide) histogram[character]!++;
    const characters = numbers.size <= 0x10000 ? Uint16Array.from(wide) : wide;
    return { characters, histogram, index: undefined, bits: undefined };
  });
}

function indexOf(text: Encoded): Index {
  if (text.index) return text.index;
  const { characters, histogram } = text;
  const size = characters.length;
  const popular = size >= 200 ? Math.floor(size / 100) + 1 : Number.POSITIVE_INFINITY;
  const first = new Uint32Array(histogram.length + 1);
  for (let character = 0; character < histogram.length; character++) {
    const count = histogram[character]!;
    first[character + 1] = first[character]! + (count > popular ? 0 : count);
  }
  const places = new Uint32Array(first[histogram.length]!);
  const next = first.slice(0, histogram.length);
  for (let place = 0; place < size; place++) {
    const character = characters[place]!;
    if (histogram[character]! <= popular) places[next[character]!++] = place;
  }
  text.index = { first, places };
  return text.index;
}
