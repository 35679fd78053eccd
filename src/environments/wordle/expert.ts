/**
 * @file The scripted expert: it reads the list of words and the answers, and guesses the word that
 * still fits and splits what is left into the most even classes.
 */
import type { Expert } from "../environment.ts";
import { seededRandom } from "../random.ts";
import { feedback, learned, NOTHING } from "./knowledge.ts";
import { WORDS } from "./words.ts";

/** Among more words than this only so many guesses, and so many hidden words, are compared. */
const SAMPLE = 60;

export function wordleExpert(seed: number): Expert {
  const random = seededRandom("wordle", "expert", seed);
  let words: readonly string[] | undefined;
  let guess: string | undefined;
  return {
    act({ text }) {
      if (words === undefined) {
        const listed = text.split("\n").filter((line) => /^[a-z]{5}$/.test(line));
        words = listed.length > 0 ? listed : WORDS;
      } else if (guess !== undefined) {
        const [last, said] = [guess, text.trim()];
        words = words.filter((word) =>
          said === "invalid word" ? word !== last : answer(last, word) === said,
        );
      }
      guess = words.length > 0 ? best(words, random.shuffled(words).slice(0, SAMPLE)) : "house";
      return Array.from(guess).join(" ");
    },
  };
}

/** As if nothing were known: what the letters of the guess are in this word. */
function answer(guess: string, word: string): string {
  return feedback(learned(NOTHING, guess, word), guess);
}

function best(words: readonly string[], guesses: readonly string[]): string {
  let chosen = guesses[0]!;
  let fewest = Infinity;
  for (const guess of guesses) {
    const classes = new Map<string, number>();
    for (const word of words.length > SAMPLE ? guesses : words) {
      const key = answer(guess, word);
      classes.set(key, (classes.get(key) ?? 0) + 1);
    }
    // The words that will be left, on average, times how many there are.
    let left = 0;
    for (const count of classes.values()) left += count * count;
    if (left < fewest) [chosen, fewest] = [guess, left];
  }
  return chosen;
}
