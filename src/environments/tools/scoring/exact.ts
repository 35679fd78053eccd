/**
 * @file Whether an answer is the expected one, letter for letter after tidying: white space, case, and
 * punctuation at the ends do not count.
 */

const PUNCTUATION = '.,!?:;"';

export function normalized(answer: string): string {
  const text = answer.replace(/\s+/g, " ").trim().toLowerCase();
  // Letter by letter: a pattern for the end of a text tries every place in it.
  let [start, end] = [0, text.length];
  while (start < end && PUNCTUATION.includes(text[start]!)) start++;
  while (end > start && PUNCTUATION.includes(text[end - 1]!)) end--;
  return text.slice(start, end).trim();
}

export function isExactly(given: string, expected: string): boolean {
  return normalized(given) === normalized(expected);
}
