/**
 * @file How text is cut into words before merging: llama.cpp has a name for each rule, tokenizer.json the
 * rule itself. Names that are not here are refused: another rule would give other tokens, silently.
 */
import { ModelFileError } from "../../checkpoint/errors.ts";
import { show } from "../../config/fields.ts";
import { wordPattern } from "../../tokenizer/words.ts";

export interface Rule {
  readonly normalizer: object | null;
  readonly preTokenizer: object;
  /** Whether a word that is a token is not merged from its letters. */
  readonly ignoreMerges: boolean;
}

export const byteLevel = (useRegex: boolean) => ({
  type: "ByteLevel",
  add_prefix_space: false,
  trim_offsets: true,
  use_regex: useRegex,
});

function splitBy(pattern: string): object {
  const split = { type: "Split", pattern: { Regex: pattern }, behavior: "Isolated", invert: false };
  return { type: "Sequence", pretokenizers: [split, byteLevel(false)] };
}

/** Llama 3's and Qwen's patterns differ in how many digits are a word. */
const modern = (digits: string): string =>
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" +
  `${digits}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`;

const plain = { normalizer: null, ignoreMerges: false };
const gpt2: Rule = { ...plain, preTokenizer: byteLevel(true) };
/** GPT-2's with every digit a word of its own. */
const digits: Rule = {
  ...plain,
  preTokenizer: {
    type: "Sequence",
    pretokenizers: [{ type: "Digits", individual_digits: true }, byteLevel(true)],
  },
};
const llama3: Rule = {
  normalizer: null,
  preTokenizer: splitBy(modern("\\p{N}{1,3}")),
  ignoreMerges: true,
};
const qwen2: Rule = {
  normalizer: { type: "NFC" },
  preTokenizer: splitBy(modern("\\p{N}")),
  ignoreMerges: false,
};

/** By llama.cpp's names; the first name of a rule is the one that is written. */
const RULES: Readonly<Record<string, Rule>> = {
  "gpt-2": gpt2,
  smollm: digits,
  "llama-bpe": llama3,
  llama3,
  "llama-v3": llama3,
  qwen2,
};

export function ruleNamed(pre: string, file: string): Rule {
  const rule = Object.hasOwn(RULES, pre) ? RULES[pre] : undefined;
  if (rule !== undefined) return rule;
  throw new ModelFileError(
    file,
    `tokenizer.ggml.pre is ${show(pre)}, a way to cut text that is not known here; known are ` +
      `${Object.keys(RULES).join(", ")}. Take the model in Hugging Face's format`,
  );
}

export interface NamedRule {
  readonly name: string;
  /** What llama.cpp will do differently. */
  readonly remark?: string;
}

/**
 * llama.cpp's name for what tokenizer.json says; undefined where it has none. Tokenizers that were learned here
 * have Qwen's rule (but for contractions in mixed case, "I'Ll"), with numbers cut as asked for.
 */
export function nameOfRule(preTokenizer: unknown): NamedRule | undefined {
  const sought = essence(preTokenizer);
  const isSame = (other: object): boolean => essence(other) === sought;
  for (const [name, rule] of Object.entries(RULES)) if (isSame(rule.preTokenizer)) return { name };
  if (isSame(splitBy(wordPattern("apart")))) return { name: "qwen2" };
  for (const numbers of ["joined", "named"] as const)
    if (isSame(splitBy(wordPattern(numbers))))
      return {
        name: "qwen2",
        remark:
          `The tokenizer was learned with numbers "${numbers}", which llama.cpp cannot do: there, texts ` +
          "with numbers become other tokens than the model knows. (openmanus-rl reads the file exactly.)",
      };
  return undefined;
}

/** What matters for tokens: not how offsets are trimmed, nor keys that say what is the default. */
export function essence(preTokenizer: unknown): string {
  return JSON.stringify(preTokenizer, (key, value: unknown) => {
    if (key === "trim_offsets" || key === "invert") return undefined;
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
