/**
 * @file How alike two texts are as sets of words, 0 to 100: the measure of the Python package thefuzz
 * (0.19, without its optional C library), by which the original compares attributes and options.
 */
import { strip } from "../../python-text.ts";
import { sequenceRatio } from "./sequence-ratio.ts";

/** Texts count as the same above this. */
export const ALIKE = 85;

export function isAlike(first: string, second: string): boolean {
  return tokenSetRatio(first, second) > ALIKE;
}

/**
 * The words that both have, those with the rest of the first, those with the rest of the second: the
 * best of the three comparisons. So a text whose words are all in the other is at 100.
 */
export function tokenSetRatio(first: string, second: string): number {
  const [a, b] = [wordsOf(first), wordsOf(second)];
  if (a.size === 0 || b.size === 0) return 0;
  const common = sorted([...a].filter((word) => b.has(word)));
  const onlyA = sorted([...a].filter((word) => !b.has(word)));
  const onlyB = sorted([...b].filter((word) => !a.has(word)));
  const withA = `${common} ${onlyA}`.trim();
  const withB = `${common} ${onlyB}`.trim();
  return Math.max(ratio(common, withA), ratio(common, withB), ratio(withA, withB));
}

/**
 * Latin-1's characters beyond ASCII disappear (an accented letter, and a no-break space, which joins
 * the words around it); what is neither letter nor digit nor underscore separates words.
 */
function wordsOf(text: string): Set<string> {
  const plain = text
    .replace(/[\u0080-\u00ff]/g, "")
    .replace(/[^\p{L}\p{N}_]/gu, " ")
    .toLowerCase();
  const words = strip(plain).split(/\s+/);
  return new Set(words[0] === "" ? [] : words);
}

/** By code point, as Python sorts. */
function sorted(words: string[]): string {
  return words.sort((a, b) => compareCodePoints(a, b)).join(" ");
}

function compareCodePoints(a: string, b: string): number {
  const [first, second] = [[...a], [...b]];
  for (let i = 0; i < Math.min(first.length, second.length); i++) {
    const difference = first[i]!.codePointAt(0)! - second[i]!.codePointAt(0)!;
    if (difference !== 0) return difference;
  }
  return first.length - second.length;
}

function ratio(first: string, second: string): number {
  if (first === second) return 100;
  if (first === "" || second === "") return 0;
  return roundHalfEven(100 * sequenceRatio(first, second));
}

/** Python's round(): 86.5 is 86. */
function roundHalfEven(value: number): number {
  const below = Math.floor(value);
  const rest = value - below;
  if (rest !== 0.5) return Math.round(value);
  return below % 2 === 0 ? below : below + 1;
}
