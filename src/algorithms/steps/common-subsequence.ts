/**
 * @file The distance of two texts: how many characters of both their longest common subsequence leaves
 * without a partner. Computed bit by bit, in a band around the diagonal, and given up early.
 *
 * If a is to have at most `aloneA` characters without a partner and b at most `aloneB`, partners are
 * never further apart than that (−aloneA ≤ j − i ≤ aloneB): only that band is computed. And wherever
 * the path goes through row i, at column j, neither i nor j may be more than that ahead of the
 * subsequence so far; when no column is left, neither is hope. Texts that differ are mostly told apart
 * in their first quarter. What both begin and end with is partnered without looking.
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

/** [alphabet × words] Where each character stands in a text, as bits. */
export function characterBits({ characters, histogram }: EncodedText): Int32Array {
  const words = Math.ceil(characters.length / BITS);
  const bits = new Int32Array(histogram.length * words);
  for (let place = 0; place < characters.length; place++)
    bits[characters[place]! * words + Math.floor(place / BITS)]! |= 1 << (place % BITS);
  return bits;
}

export interface DistanceInput {
  a: EncodedText;
  b: EncodedText;
  /** `characterBits` of b. */
  bits: Int32Array;
  /** How many characters of a may have no partner, and of b. */
  aloneA: number;
  aloneB: number;
}

/**
 * The distance, or undefined when it leaves more alone than allowed. `state` has room for one word per
 * 30 characters of b, and is overwritten.
 */
export function boundedDistance(input: DistanceInput, state: Int32Array): number | undefined {
  const { bits, aloneA, aloneB } = input;
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
  let passed = 0; // words left of the band: nothing changes there any more
  let risen = 0; // zeros in them
  for (let row = prefix; row < stop; row++) {
    const from = row > aloneA ? ((row - aloneA) / BITS) | 0 : 0;
    while (passed < from) risen += bitCount(~state[passed++]! & ONES);
    const to = Math.min(words, (((row + aloneB) / BITS) | 0) + 1);
    const offset = a[row]! * words;
    let carry = 0;
    for (let word = from; word < to; word++) {
      const before = state[word]!;
      const matches = before & bits[offset + word]!;
      const sum = before + matches + carry;
      carry = sum >> BITS;
      state[word] = (sum & ONES) | (before & ~matches);
    }
    // Looking costs as much as a row or two: only now and then. Is there a column, in the band, that
    // could still be on the path? Left of the band are too few columns, right of it too few partners.
    if (((row - prefix) & 15) !== 15 || row < aloneA) continue;
    let length = risen;
    let word = from;
    for (; word < to; word++) {
      length += bitCount(~state[word]! & ONES);
      if (row + 1 - length <= aloneA && word * BITS - length <= aloneB) break;
    }
    if (word === to) return undefined;
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
