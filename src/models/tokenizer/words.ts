/**
 * @file Text cut into words before BPE: merges never cross a word's border.
 */

/**
 * How numbers are cut. "drawer 12" is
 *   apart: " drawer", " ", "1", "2" (Qwen's way);
 *   joined: " drawer", " 12", numbers of up to three digits with the space before them;
 *   named: " drawer 12", with the word before, too, where that is frequent enough to become a token.
 * Which is better depends on the world: in a maze, where positions are to be read, joined ones were learned
 * much faster than apart. Where things are told apart by numbers, a small model copies a name of one token
 * long before it learns to copy the number that follows a name.
 */
export const NUMBERS = ["apart", "joined", "named"] as const;
export type Numbers = (typeof NUMBERS)[number];

const SPACED = " ?\\p{N}{1,3}";
/**
 * Where names are to be single tokens, so are marks, "[SEP]", and codes, letters and digits in one, at least
 * four: "B07XQ2". A code is cut off from what stands before: the same token where it is read and where it
 * is said.
 */
const MARK = " ?\\[\\p{Lu}+\\]";
const CODE = "(?=\\p{L}+\\p{N}|\\p{N}+\\p{L})[\\p{L}\\p{N}]{4,}";

interface Pattern {
  /** What is a word before anything else is. */
  readonly whole: string;
  readonly letters: string;
  /** What may follow a word's letters. */
  readonly behind: string;
  /** A number that stands alone. */
  readonly alone: string;
}

const PLAIN = { whole: "", letters: "\\p{L}+", behind: "" };
const PATTERNS: Readonly<Record<Numbers, Pattern>> = {
  apart: { ...PLAIN, alone: "\\p{N}" },
  joined: { ...PLAIN, alone: SPACED },
  named: {
    whole: `${MARK}|${CODE}|`,
    letters: `(?!${CODE})\\p{L}+`,
    behind: "(?: \\p{N}{1,3})?",
    alone: SPACED,
  },
};

/**
 * Qwen's pattern: contractions, words with one leading space or sign, numbers, runs of other signs, line
 * breaks, spaces. Written for the Oniguruma library that Python's tokenizers use.
 */
export function wordPattern(numbers: Numbers): string {
  const { whole, letters, behind, alone } = PATTERNS[numbers];
  return (
    `'(?:[sdmtSDMT]|ll|LL|ve|VE|re|RE)|${whole}[^\\r\\n\\p{L}\\p{N}]?${letters}${behind}|${alone}|` +
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
