/**
 * @file Similarity of texts, as Python's difflib.SequenceMatcher(None, a, b).ratio() has it, and fast
 * enough to compare thousands.
 *
 *   ratio = 2·M / (|a| + |b|)      M: characters in matching blocks (difflib.ts)
 *
 * It is not symmetric, and difflib's rule for popular characters makes it small for long texts that
 * differ in several places.
 *
 * ratio ≥ threshold is mostly decided without computing it. The distance of two texts is the number of
 * characters of both that the longest common subsequence leaves alone; matching blocks are a common
 * subsequence and leave at least as many. So texts are not similar when their distance is more than
 * |a| + |b| − 2·M allows, and it is at least the difference of their lengths (difflib's
 * real_quick_ratio) and of their counts of characters (quick_ratio).
 *
 * Texts come from worlds, and may be anything. Very long ones, and long ones of thousands of different
 * characters, are similar only to themselves; and where matching blocks take too long to find, the
 * distance alone decides. Neither happens to what people write.
 */
import {
  boundedDistance,
  type CharacterBits,
  characterBits,
  characterBitsSize,
} from "./common-subsequence.ts";
import { blockMatcher, type CharacterIndex, indexCharacters } from "./difflib.ts";
import { type EncodedText, encodeTexts, histogramDistance } from "./encoded-text.ts";

/** Characters of a text that is compared, and words of bits that say where they stand. */
const LONGEST = 50_000;
const MOST_BITS = 2_000_000;
const SHORT = 5_000;

/** Texts go by their numbers. */
export interface TextMatcher {
  ratio(a: number, b: number): number;
  /** ratio(a, b) ≥ threshold */
  similar(a: number, b: number, threshold: number): boolean;
  /** The same, for texts whose distance is already known to allow it. */
  similarIfClose(a: number, b: number, threshold: number): boolean;
  /** Their distance, or undefined when it is more than `most`. */
  distance(a: number, b: number, most: number): number | undefined;
  /** What their distance is at least, at a glance. */
  glance(a: number, b: number): number;
  /** The most that texts of a ratio ≥ threshold can be apart. */
  allowed(a: number, b: number, threshold: number): number;
}

/** Compares the given texts with each other. */
export function textMatcher(texts: readonly string[]): TextMatcher {
  const encoded = encodeTexts(texts);
  const lengthOf = (text: number) => encoded[text]!.characters.length;
  const longest = encoded.reduce((most, { characters }) => Math.max(most, characters.length), 0);
  const blocks = blockMatcher(longest);
  const state = new Int32Array(longest); // more than enough for boundedDistance
  // What is needed of a text that is the second one of a comparison, made when it first is.
  const indices: (CharacterIndex | undefined)[] = [];
  const bits: (CharacterBits | undefined)[] = [];
  const tooMuch = encoded.map(isTooMuch);

  function indexOf(text: number): CharacterIndex {
    indices[text] ??= indexCharacters(encoded[text]!);
    return indices[text];
  }

  function distance(a: number, b: number, most: number): number | undefined {
    if (texts[a] === texts[b]) return 0;
    if (tooMuch[a] || tooMuch[b]) return undefined;
    const longer = lengthOf(a) - lengthOf(b);
    if (Math.abs(longer) > most || histogramDistance(encoded[a]!, encoded[b]!) > most)
      return undefined;
    bits[b] ??= characterBits(encoded[b]!);
    return boundedDistance(
      {
        a: encoded[a]!,
        b: encoded[b]!,
        bits: bits[b],
        aloneA: Math.floor((most + longer) / 2),
        aloneB: Math.floor((most - longer) / 2),
      },
      state,
    );
  }

  function allowed(a: number, b: number, threshold: number): number {
    const length = lengthOf(a) + lengthOf(b);
    return length - 2 * fewestMatches(length, threshold);
  }

  function similarIfClose(a: number, b: number, threshold: number): boolean {
    if (texts[a] === texts[b]) return true;
    const enough = fewestMatches(lengthOf(a) + lengthOf(b), threshold);
    // Where the blocks take too long, being close is enough.
    return blocks.hasMatches(encoded[a]!, encoded[b]!, indexOf(b), enough) ?? true;
  }

  return {
    ratio(a, b) {
      const length = lengthOf(a) + lengthOf(b);
      if (length === 0) return 1;
      return (2 * blocks.matches(encoded[a]!, encoded[b]!, indexOf(b))) / length;
    },
    similar: (a, b, threshold) =>
      distance(a, b, allowed(a, b, threshold)) !== undefined && similarIfClose(a, b, threshold),
    similarIfClose,
    distance,
    glance: (a, b) => histogramDistance(encoded[a]!, encoded[b]!),
    allowed,
  };
}

function isTooMuch(text: EncodedText): boolean {
  const { length } = text.characters;
  // Most texts are short enough not to be looked at.
  if (length <= SHORT) return false;
  return length > LONGEST || characterBitsSize(text) > MOST_BITS;
}

/** The smallest M with 2·M / length ≥ threshold, in the arithmetic of the ratio itself. */
function fewestMatches(length: number, threshold: number): number {
  if (length === 0) return 0;
  let fewest = Math.max(0, Math.floor((threshold * length) / 2) - 1);
  while ((2 * fewest) / length < threshold) fewest++;
  return fewest;
}
