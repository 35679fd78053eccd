/**
 * @file Texts as numbers, for comparing many of them with each other: characters of one alphabet, and
 * how often each occurs.
 */

export interface EncodedText {
  /** [length] Code points, as in Python, as numbers of the alphabet that all texts share. */
  characters: Int32Array;
  /** [alphabet] How often each character occurs. */
  histogram: Int32Array;
}

export function encodeTexts(texts: readonly string[]): EncodedText[] {
  const alphabet: Alphabet = { size: 0, low: new Int32Array(0x10000).fill(-1), high: new Map() };
  const all = texts.map((text) => {
    const points = codePoints(text);
    const characters = new Int32Array(points.length);
    renumber(points, characters, alphabet);
    return characters;
  });
  const { size } = alphabet;
  return all.map((characters) => ({ characters, histogram: countCharacters(characters, size) }));
}

/** The numbers of code points: −1, or nothing, for those not seen yet. */
interface Alphabet {
  size: number;
  /** Below 0x10000. */
  low: Int32Array;
  high: Map<number, number>;
}

/** UTF-16 is copied in one go; only texts with surrogates have to be taken apart. */
function codePoints(text: string): Uint16Array | Int32Array {
  if (/[\ud800-\udfff]/.test(text))
    return Int32Array.from(text, (character) => character.codePointAt(0)!);
  const units = new Uint16Array(text.length);
  Buffer.from(units.buffer).write(text, "utf16le");
  return units;
}

function renumber(
  points: Uint16Array | Int32Array,
  characters: Int32Array,
  alphabet: Alphabet,
): void {
  const { low, high } = alphabet;
  for (let i = 0; i < characters.length; i++) {
    const point = points[i]!;
    if (point < 0x10000) {
      if (low[point]! < 0) low[point] = alphabet.size++;
      characters[i] = low[point]!;
    } else {
      if (!high.has(point)) high.set(point, alphabet.size++);
      characters[i] = high.get(point)!;
    }
  }
}

function countCharacters(characters: Int32Array, size: number): Int32Array {
  const histogram = new Int32Array(size);
  for (let i = 0; i < characters.length; i++) histogram[characters[i]!]!++;
  return histogram;
}

/** Σ |a − b| of two histograms: at least so many characters of both have no partner in the other. */
export function histogramDistance(a: EncodedText, b: EncodedText): number {
  let sum = 0;
  for (let i = 0; i < a.histogram.length; i++) sum += Math.abs(a.histogram[i]! - b.histogram[i]!);
  return sum;
}
