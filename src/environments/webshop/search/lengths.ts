/**
 * @file How Lucene keeps the length of a document in one byte: exactly up to 24 + 16, then with four
 * significant bits. Documents whose lengths share a byte score alike, so rankings depend on it.
 */

/** Lengths below this are their own code. */
const EXACT = 24;

/** The byte of a length, 0 to 255. */
export function lengthCode(length: number): number {
  return length < EXACT ? length : EXACT + shortened(length - EXACT);
}

/** The length that stands for all lengths of this code. */
export function lengthOfCode(code: number): number {
  if (code < EXACT) return code;
  const rest = code - EXACT;
  const shift = (rest >>> 3) - 1;
  return EXACT + (shift < 0 ? rest : ((rest & 7) | 8) * 2 ** shift);
}

/** Three bits after the leading one, and how far they were shifted. */
function shortened(value: number): number {
  const bits = 32 - Math.clz32(value);
  if (bits < 4) return value;
  const shift = bits - 4;
  return ((value >>> shift) & 7) | ((shift + 1) << 3);
}
