/**
 * @file The distance of two texts: how many characters of both their longest common subsequence leaves
 * without a partner. Computed bit by bit, in a band around the diagonal, and given up early.
 *
 * a may have at most `aloneA` characters without a partner and b at most `aloneB`. So a path through the
 * table (row i: characters of a, column j: of b, L: length of the subsequence so far) is at no time where
 * i − L > aloneA or j − L > aloneB. Only words with columns where it could be are computed, a band that
 * is looked at anew every 16 rows; when it is empty, so is hope, and texts that differ are mostly told
 * apart in their first quarter. L never grows by more than one per row or column: columns that were left
 * behind stay so, and the band's right end never goes back. What both texts begin and end with is
 * partnered without looking.
 *
 * One step of the recurrence for character x of a (Hyyrö 2004, after Allison and Dix 1986), where bit j
 * of V is 0 when row i of the table rises at column j, and M_x has a bit for every x in b:
 *
 *   V ← (V + (V & M_x)) | (V & ~M_x)       length of the subsequence: zeros in V
 *
 * in words of 30 bits, so that sums stay in small integers.
 */
import type { EncodedText } from "./encoded-text.ts";

const BITS = 30;
const ONES = 2 ** BITS - 1;
/** Rows from one look at the band to the next. */
const LOOK = 16;

/** Where each character stands in a text, as bits. */
export interface CharacterBits {
  /** [alphabet + 1] Where a character's words begin. All that are not in the text share some that are 0. */
  rows: Int32Array;
  /** [different characters + 1, words] */
  bits: Int32Array;
}

export function characterBits({ characters, histogram }: EncodedText): CharacterBits {
  const words = Math.ceil(characters.length / BITS);
  const rows = new Int32Array(histogram.length + 1);
  let different = 0;
  for (let character = 0; character < histogram.length; character++)
    if (histogram[character]! > 0) rows[character] = ++different * words;
  const bits = new Int32Array((different + 1) * words);
  for (let place = 0; place < characters.length; place++)
    bits[rows[characters[place]!]! + Math.floor(place / BITS)]! |= 1 << (place % BITS);
  return { rows, bits };
}

/** How many words of bits that would be. */
export function characterBitsSize({ characters, histogram }: EncodedText): number {
  let different = 0;
  for (let character = 0; character < histogram.length; character++)
    if (histogram[character]! > 0) different++;
  return (different + 1) * Math.ceil(characters.length / BITS);
}

export interface DistanceInput {
  a: EncodedText;
  b: EncodedText;
  /** Of b. */
  bits: CharacterBits;
  /** How many characters of a may have no partner, and of b. */
  aloneA: number;
  aloneB: number;
}

/**
 * The distance, or undefined when it leaves more alone than allowed. `state` has room for one word per
 * 30 characters of b, and is overwritten.
 */
export function boundedDistance(input: DistanceInput, state: Int32Array): number | undefined {
  const { aloneA, aloneB } = input;
  const { rows, bits } = input.bits;
  const a = input.a.characters;
  const b = input.b.characters;
  const shorter = Math.min(a.length, b.length);
  let prefix = 0;
  while (prefix < shorter && a[prefix] === b[prefix]) prefix++;
  let suffix = 0;
  const rest = shorter - prefix;
  while (suffix < rest && a[a.length - 1 - suffix] === b[b.length - 1 - suffix]) suffix++;

  const words = Math.ceil(b.length / BITS);
  // After the common prefix, the table has risen at each of its columns, and at no other.
  for (let word = 0; word < words; word++)
    state[word] = (ONES << between(prefix - word * BITS)) & ONES;
  const stop = a.length - suffix;
  const nowhere = input.b.histogram.length;
  let from = 0; // the band's words
  let to = Math.ceil(prefix / BITS);
  let risen = 0; // zeros left of it
  for (let row = prefix; row < stop; row += 2) {
    if (((row - prefix) & (LOOK - 1)) === 0) {
      let first = bitCount(~state[from]! & ONES);
      while (risen + first < row - aloneA) {
        risen += first;
        if (++from >= to) return undefined;
        first = bitCount(~state[from]! & ONES);
      }
      let length = risen + first;
      if (from * BITS - length > aloneB) return undefined;
      for (let word = from + 1; word < to; word++) length += bitCount(~state[word]! & ONES);
      to = Math.max(to, Math.min(words, Math.floor((length + aloneB + LOOK) / BITS) + 1));
    }
    // Two rows at once: a word of the state is read and written once for both.
    const offset = rows[a[row]!]!;
    const offsetNext = rows[row + 1 < stop ? a[row + 1]! : nowhere]!;
    let carry = 0;
    let carryNext = 0;
    for (let word = from; word < to; word++) {
      const before = state[word]!;
      const matches = before & bits[offset + word]!;
      const sum = (before + matches + carry) | 0;
      carry = sum >>> BITS;
      const middle = (sum & ONES) | (before ^ matches);
      const matchesNext = middle & bits[offsetNext + word]!;
      const sumNext = (middle + matchesNext + carryNext) | 0;
      carryNext = sumNext >>> BITS;
      state[word] = (sumNext & ONES) | (middle ^ matchesNext);
    }
  }
  const columns = b.length - suffix;
  let length = suffix;
  for (let word = 0; word < words; word++)
    length += bitCount(~state[word]! & ONES & ~(ONES << between(columns - word * BITS)));
  if (a.length - length > aloneA || b.length - length > aloneB) return undefined;
  return a.length + b.length - 2 * length;
}

/** As the number of a shift: a word has BITS bits. */
function between(bits: number): number {
  return Math.min(Math.max(bits, 0), BITS);
}

function bitCount(word: number): number {
  let value = word - ((word >>> 1) & 0x55555555);
  value = (value & 0x33333333) + ((value >>> 2) & 0x33333333);
  return Math.imul((value + (value >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
