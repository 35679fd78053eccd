/**
 * @file What is known about the hidden word after some guesses, and what an answer teaches.
 *
 * A set of positions is a number of five bits, bit 0 for the first letter.
 */

export const LETTERS = 5;
const EVERYWHERE = (1 << LETTERS) - 1;

export interface Knowledge {
  /** Letters by position, "" where unknown. */
  readonly here: readonly string[];
  /** For each letter that was guessed the positions where it is not; all of them: it does not occur. */
  readonly excluded: Readonly<Record<string, number>>;
}

export const NOTHING: Knowledge = { here: new Array<string>(LETTERS).fill(""), excluded: {} };

/** What is known after a guess that was compared with a word. */
export function learned(before: Knowledge, guess: string, word: string): Knowledge {
  const here = [...before.here];
  const excluded: Record<string, number> = { ...before.excluded };
  for (let i = 0; i < LETTERS; i++) {
    const letter = guess[i]!;
    if (word[i] === letter) {
      here[i] = letter;
      excluded[letter] ??= 0;
    } else {
      const positions = word.includes(letter) ? 1 << i : EVERYWHERE;
      excluded[letter] = (excluded[letter] ?? 0) | positions;
    }
  }
  return { here, excluded };
}

/** One letter per position: g here, y elsewhere in the word, b nowhere. */
export function feedback({ here, excluded }: Knowledge, guess: string): string {
  return Array.from(guess, (letter, i) =>
    here[i] === letter ? "g" : excluded[letter] === EVERYWHERE ? "b" : "y",
  ).join(" ");
}

export function isConsistent({ here, excluded }: Knowledge, word: string): boolean {
  for (let i = 0; i < LETTERS; i++) {
    if (here[i] !== "" && here[i] !== word[i]) return false;
    if (((excluded[word[i]!] ?? 0) >> i) & 1) return false;
  }
  // Whatever was guessed and occurs must occur.
  for (const letter in excluded)
    if (excluded[letter] !== EVERYWHERE && !word.includes(letter)) return false;
  return true;
}
