/**
 * @file The words of a text, for comparing texts by them.
 */

/** Runs of letters and digits, in lower case, as often as they stand there. */
export function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}
