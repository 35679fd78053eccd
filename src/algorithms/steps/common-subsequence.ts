/**
 * @file Whether two texts can have much in common, decided early: their longest common subsequence, bit
 * by bit, in a band around the diagonal.
 *
 * Matching blocks are a common subsequence. If a is to have at most `aloneA` characters without a
 * partner and b at most `aloneB`, partners are never further apart than that (−aloneA ≤ j − i ≤
 * aloneB), so only that band is computed, and the answer is no as soon as the part of a that was
 * looked at has more than `aloneA` without a partner. Texts that differ are mostly told apart in their
 * first quarter.
 *
 * One step of the recurrence for character x of a (Hyyrö 2004, after Allison and Dix 1986), where bit j
 * of V is 0 when row i of the table rises at column j, and M_x has a bit for every x in b:
 *
 *   V ← (V + (V & M_x)) | (V & ~M_x)       length of the subsequence: zeros in V
 *
 * in words of 30 bits, so that sums stay in small integers.
 */

const BITS = 30;
const ONES = 2 ** BITS - 1;

/** [alphabet × words] Where each character stands in a text, as bits. */
export function characterBits(characters: ArrayLike<number>, alphabet: number): Int32Array {
  const words = Math.ceil(characters.length / BITS);
  const bits = new Int32Array(alphabet * words);
  for (let place = 0; place < characters.length; place++)
    bits[characters[place]! * words + Math.floor(place / BITS)]! |= 1 << (place % BITS);
  return bits;
}

export interface CommonSubsequenceInput {
  /** Characters, as numbers of an alphabet. */
  a: ArrayLike<number>;
  /** `characterBits` of b. */
  bits: Int32Array;
  /** The length of b. */
  lengthOfB: number;
  /** Characters of a that may have no partner, and of b. */
  aloneA: number;
  aloneB: number;
}

/** False: there is no common subsequence that leaves so few alone. `state` is at least one word per 30 characters of b, and is overwritten. */
export function mayAlign(input: CommonSubsequenceInput, state: Int32Array): boolean {
  const { a, bits, lengthOfB, aloneA, aloneB } = input;
  const words = Math.ceil(lengthOfB / BITS);
  for (let word = 0; word < words; word++) state[word] = ONES;
  for (let row = 0; row < a.length; row++) {
    const from = Math.max(0, Math.floor((row - aloneA) / BITS));
    const to = Math.min(words, Math.floor((row + aloneB) / BITS) + 1);
    const offset = a[row]! * words;
    let carry = 0;
    for (let word = from; word < to; word++) {
      const before = state[word]!;
      const matches = before & bits[offset + word]!;
      const sum = before + matches + carry;
      carry = sum >> BITS;
      state[word] = (sum & ONES) | (before & ~matches);
    }
    // Counting costs about as much as a row: only now and then.
    if ((row & 31) === 31 && row + 1 - zeros(state, words) > aloneA) return false;
  }
  return a.length - zeros(state, words) <= aloneA;
}

/** How many of the words' bits are 0. */
function zeros(state: Int32Array, words: number): number {
  let count = 0;
  for (let word = 0; word < words; word++) {
    let value = ~state[word]! & ONES;
    value -= (value >>> 1) & 0x55555555;
    value = (value & 0x33333333) + ((value >>> 2) & 0x33333333);
    count += Math.imul((value + (value >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
  }
  return count;
}
