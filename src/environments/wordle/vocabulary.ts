/**
 * @file The words of a game: our own, or a file with one word per line.
 */
import { readFileSync, statSync } from "node:fs";
import { EnvironmentError } from "../environment.ts";
import { seededRandom } from "../random.ts";
import { LETTERS } from "./knowledge.ts";
import { WORDS } from "./words.ts";

const MOST_WORDS = 20_000;

/** So many of the words, always the same ones, in alphabetical order. */
export function vocabulary(file: string | undefined, size: number | undefined): readonly string[] {
  const all = file === undefined ? WORDS : wordsOf(file);
  const count = size ?? Math.min(all.length, file === undefined ? 400 : MOST_WORDS);
  if (count > all.length)
    throw new EnvironmentError("wordle", `size is ${count}, but there are ${all.length} words.`);
  return seededRandom("wordle", "vocabulary").shuffled(all).slice(0, count).sort();
}

function wordsOf(file: string): readonly string[] {
  const fail = (message: string, cause?: unknown): never => {
    throw new EnvironmentError(
      "wordle",
      `the words in ${file} cannot be used: ${message}`,
      cause === undefined ? {} : { cause },
    );
  };
  let text: string;
  try {
    if (statSync(file).size > 16 * MOST_WORDS) fail(`it is larger than ${MOST_WORDS} words.`);
    text = readFileSync(file, "utf8");
  } catch (error) {
    if (error instanceof EnvironmentError) throw error;
    return fail((error as Error).message, error);
  }
  const words = new Set<string>();
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const word = line.trim().toLowerCase();
    if (word === "") continue;
    if (!/^[a-z]+$/.test(word) || word.length !== LETTERS)
      fail(
        `line ${index + 1} is ${JSON.stringify(line.slice(0, 40))}; expected one word of ${LETTERS} letters, a to z.`,
      );
    words.add(word);
  }
  if (words.size < 2) fail(`it has ${words.size} words; a game needs 2 or more.`);
  if (words.size > MOST_WORDS)
    fail(`it has ${words.size} words; at most ${MOST_WORDS} can be used.`);
  return [...words];
}
