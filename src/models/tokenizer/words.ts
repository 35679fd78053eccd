/**
 * @file Text cut into words before BPE: merges never cross a word's border.
 */

/**
 * How numbers are cut: digit by digit and apart from the space before (Qwen's way), or up to three digits
 * joined with that space. "drawer 12" is four tokens, or two. Which is better a trial tells: in a maze,
 * where positions are to be read, joined ones were learned much faster; in households, where the number
 * behind a name is to be copied, apart.
 */
export type Numbers = "apart" | "joined";

const NUMBERS: Readonly<Record<Numbers, string>> = { apart: "\\p{N}", joined: " ?\\p{N}{1,3}" };

/**
 * Qwen's pattern: contractions, words with one leading space or sign, numbers, runs of other signs, line
 * breaks, spaces. Written for the Oniguruma library that Python's tokenizers use.
 */
export function wordPattern(numbers: Numbers): string {
  return (
    `'(?:[sdmtSDMT]|ll|LL|ve|VE|re|RE)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|${NUMBERS[numbers]}|` +
    " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
  );
}

/** The same for JavaScript, whose \s is another set of characters. */
function wordsOf(numbers: Numbers): RegExp {
  const pattern = wordPattern(numbers);
  return new RegExp(
    pattern.replaceAll("\\s", "\\p{White_Space}").replaceAll("\\S", "\\P{White_Space}"),
    "gu",
  );
}

/** How often each word occurs. Special tokens are cut out: they are no words. */
export function countWords(
  texts: Iterable<string>,
  specialTokens: readonly string[],
  numbers: Numbers,
): Map<string, number> {
  const words = wordsOf(numbers);
  const counts = new Map<string, number>();
  for (const text of texts)
    for (const part of withoutTokens(text, specialTokens))
      for (const [word] of part.matchAll(words)) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

function withoutTokens(text: string, tokens: readonly string[]): string[] {
  return tokens.reduce((parts, token) => parts.flatMap((part) => part.split(token)), [text]);
}
