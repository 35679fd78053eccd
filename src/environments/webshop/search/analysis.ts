/**
 * @file Lucene's English analysis: words, without possessive 's, in lower case, without stop words,
 * stemmed.
 */
import { porterStem } from "./porter.ts";
import { eachWord } from "./tokenizer.ts";

/** Lucene's English stop words. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    "a an and are as at be but by for if in into is it no not of on or such that the their then " +
    "there these they this to was will with"
  ).split(" "),
);

/** The term of one word, or undefined for a stop word. */
export function termOf(word: string): string | undefined {
  const plain = word.replace(/['\u2019\uff07][sS]$/, "").toLowerCase();
  return STOP_WORDS.has(plain) ? undefined : porterStem(plain);
}

/** The terms of a text, in order. */
export function termsOf(text: string): string[] {
  const terms: string[] = [];
  eachWord(text, (start, end) => {
    const term = termOf(text.slice(start, end));
    if (term !== undefined) terms.push(term);
  });
  return terms;
}
