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
  // One piece of memory for all: thousands of small ones are slow to get and to give back.
  const room = new Int32Array(texts.reduce((sum, text) => sum + text.length, 0));
  const units = new Uint16Array(texts.reduce((most, text) => Math.max(most, text.length), 0));
  const bytes = Buffer.from(units.buffer);
  let used = 0;
  const all = texts.map((text) => {
    const characters = room.subarray(used, used + text.length);
    bytes.write(text, "utf16le");
    const length = renumber(units, characters, alphabet);
    used += length;
    return characters.subarray(0, length);
  });
  const { size } = alphabet;
  const places = new Int32Array(4 * size);
  return all.map((characters) => {
    return { characters, histogram: countCharacters(characters, size, places) };
  });
}

/** The numbers of characters: −1, or nothing, for those not seen yet. */
interface Alphabet {
  size: number;
  /** Of one unit of UTF-16. */
  low: Int32Array;
  /** Of two: both units, as one number. */
  high: Map<number, number>;
}

/** From UTF-16 to numbers of the alphabet; gives how many characters it were. */
function renumber(units: Uint16Array, characters: Int32Array, alphabet: Alphabet): number {
  const { low } = alphabet;
  for (let i = 0; i < characters.length; i++) {
    const unit = units[i]!;
    if ((unit & 0xf800) === 0xd800) return renumberPairs(units, characters, alphabet, i);
    let number = low[unit]!;
    if (number < 0) {
      number = alphabet.size++;
      low[unit] = number;
    }
    characters[i] = number;
  }
  return characters.length;
}

/** The same from place `from` on, where surrogates begin: two that make a pair are one character. */
function renumberPairs(
  units: Uint16Array,
  characters: Int32Array,
  alphabet: Alphabet,
  from: number,
): number {
  const { low, high } = alphabet;
  let count = from;
  for (let i = from; i < characters.length; i++) {
    const unit = units[i]!;
    const next = i + 1 < characters.length ? units[i + 1]! : 0;
    if (unit >> 10 === 0x36 && next >> 10 === 0x37) {
      const pair = (unit << 16) | next;
      if (!high.has(pair)) high.set(pair, alphabet.size++);
      characters[count++] = high.get(pair)!;
      i++;
    } else {
      if (low[unit]! < 0) low[unit] = alphabet.size++;
      characters[count++] = low[unit]!;
    }
  }
  return count;
}

/**
 * How often each character occurs. Counted in four places that are summed afterwards: one that was
 * written a moment ago (texts repeat their characters) would have to be waited for.
 */
function countCharacters(characters: Int32Array, size: number, places: Int32Array): Int32Array {
  places.fill(0);
  const fours = characters.length - (characters.length % 4);
  for (let i = 0; i < fours; i += 4) {
    places[characters[i]!]!++;
    places[characters[i + 1]! + size]!++;
    places[characters[i + 2]! + 2 * size]!++;
    places[characters[i + 3]! + 3 * size]!++;
  }
  for (let i = fours; i < characters.length; i++) places[characters[i]!]!++;
  const histogram = new Int32Array(size);
  for (let i = 0; i < size; i++)
    histogram[i] = places[i]! + places[i + size]! + places[i + 2 * size]! + places[i + 3 * size]!;
  return histogram;
}

/** Σ |a − b| of two histograms: at least so many characters of both have no partner in the other. */
export function histogramDistance(a: EncodedText, b: EncodedText): number {
  let sum = 0;
  for (let i = 0; i < a.histogram.length; i++) sum += Math.abs(a.histogram[i]! - b.histogram[i]!);
  return sum;
}
