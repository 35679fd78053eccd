/**
 * @file Text cut into words before BPE: merges never cross a word's border.
 */

/**
 * Qwen's pattern but for numbers: contractions, words with one leading space or sign, up to three digits
 * with one leading space, runs of other signs, line breaks, spaces. "drawer 12" is two tokens, not four:
 * worlds that number their things have an eighth fewer. Written for the Oniguruma library that Python's
 * tokenizers use.
 */
export const WORD_PATTERN =
  "'(?:[sdmtSDMT]|ll|LL|ve|VE|re|RE)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+| ?\\p{N}{1,3}|" +
  " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

/** The same for JavaScript, whose \s is another set of characters. */
const WORDS = new RegExp(
  WORD_PATTERN.replaceAll("\\s", "\\p{White_Space}").replaceAll("\\S", "\\P{White_Space}"),
  "gu",
);

/** How often each word occurs. Special tokens are cut out: they are no words. */
export function countWords(
  texts: Iterable<string>,
  specialTokens: readonly string[],
): Map<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts)
    for (const part of withoutTokens(text, specialTokens))
      for (const [word] of part.matchAll(WORDS)) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

function withoutTokens(text: string, tokens: readonly string[]): string[] {
  return tokens.reduce((parts, token) => parts.flatMap((part) => part.split(token)), [text]);
}
