/**
 * @file A new byte-level BPE tokenizer from text, with special tokens and a chat template, in files
 * that `@huggingface/tokenizers` and Python's tokenizers and transformers read.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { writeJson, writeText } from "../../folders/index.ts";
import { TEMPLATE_FILE } from "./chat/template.ts";
import { TOKENIZER_CONFIG_FILE, TOKENIZER_FILE } from "./files.ts";
import { learnMerges, type Merges } from "./merges.ts";
import { CHAT_TEMPLATE, END_OF_TEXT, SPECIAL_TOKENS, TURN_END } from "./chat/own-template.ts";
import { countWords, type Numbers, wordPattern } from "./words.ts";

export interface TrainingOptions {
  /** All tokens: 256 bytes, merges, special tokens. A small text may not have enough pairs. */
  vocabularySize: number;
  /** A pair must occur that often to become a token. Default: 2. */
  minimumCount?: number;
  /** The longest token, in bytes. Default: 32. */
  maximumTokenBytes?: number;
  /** How numbers are cut. Default: apart. */
  numbers?: Numbers;
}

/** What was learned; `writeTokenizer` makes files of it. */
export interface TrainedTokenizer extends Merges {
  numbers: Numbers;
  specialTokens: readonly string[];
  /** What the model's embedding needs: learned and special tokens. */
  vocabularySize: number;
}

/** Learns a tokenizer. The same texts give the same tokenizer, whatever their order. */
export function trainTokenizer(
  texts: Iterable<string>,
  { vocabularySize, minimumCount = 2, maximumTokenBytes = 32, numbers = "apart" }: TrainingOptions,
): TrainedTokenizer {
  const least = 256 + SPECIAL_TOKENS.length;
  if (!Number.isInteger(vocabularySize) || vocabularySize < least || vocabularySize > 1_000_000)
    throw new RangeError(
      `vocabularySize: expected an integer from ${least} (256 bytes and ${SPECIAL_TOKENS.length} ` +
        `special tokens) to 1000000, got ${vocabularySize}`,
    );
  const counts = countWords(texts, SPECIAL_TOKENS, numbers);
  const size = vocabularySize - SPECIAL_TOKENS.length;
  const learned = learnMerges(counts, { size, minimumCount, maximumTokenBytes });
  return {
    ...learned,
    numbers,
    specialTokens: SPECIAL_TOKENS,
    vocabularySize: learned.vocabulary.length + SPECIAL_TOKENS.length,
  };
}

export interface TokenizerFileOptions {
  /** Default: ChatML. */
  chatTemplate?: string;
  /** The model's maximum length in tokens, for those who ask the tokenizer. */
  maximumLength?: number;
}

/** Writes the files of a trained tokenizer into a folder. */
export function writeTokenizer(
  folder: string,
  trained: TrainedTokenizer,
  { chatTemplate = CHAT_TEMPLATE, maximumLength = 32_768 }: TokenizerFileOptions = {},
): void {
  mkdirSync(folder, { recursive: true });
  writeText(join(folder, TOKENIZER_FILE), `${JSON.stringify(tokenizerJson(trained), null, 1)}\n`);
  const roles = { eos_token: TURN_END, pad_token: END_OF_TEXT };
  const additional = trained.specialTokens.filter((token) => token !== END_OF_TEXT);
  writeJson(join(folder, "special_tokens_map.json"), {
    ...roles,
    additional_special_tokens: additional,
  });
  writeJson(join(folder, TOKENIZER_CONFIG_FILE), {
    add_bos_token: false,
    add_prefix_space: false,
    added_tokens_decoder: Object.fromEntries(
      addedTokens(trained).map(({ id, ...token }) => [String(id), token]),
    ),
    additional_special_tokens: additional,
    bos_token: null,
    chat_template: chatTemplate,
    clean_up_tokenization_spaces: false,
    ...roles,
    model_max_length: maximumLength,
    tokenizer_class: "PreTrainedTokenizerFast",
    unk_token: null,
  });
  writeText(join(folder, TEMPLATE_FILE), chatTemplate);
}

function addedTokens({ vocabulary, specialTokens }: TrainedTokenizer) {
  return specialTokens.map((content, i) => ({
    id: vocabulary.length + i,
    content,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: true,
  }));
}

function tokenizerJson(trained: TrainedTokenizer): object {
  const byteLevel = {
    type: "ByteLevel",
    add_prefix_space: false,
    trim_offsets: false,
    use_regex: false,
  };
  const split = {
    type: "Split",
    pattern: { Regex: wordPattern(trained.numbers) },
    behavior: "Isolated",
    invert: false,
  };
  return {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: addedTokens(trained),
    // No normalizer: what is encoded is decoded, byte for byte.
    normalizer: null,
    pre_tokenizer: { type: "Sequence", pretokenizers: [split, byteLevel] },
    post_processor: byteLevel,
    decoder: byteLevel,
    model: {
      type: "BPE",
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: "",
      end_of_word_suffix: "",
      fuse_unk: false,
      byte_fallback: false,
      vocab: Object.fromEntries(vocabularyEntries(trained)),
      // The older spelling, which every version reads: no byte-level token contains a space.
      merges: trained.merges.map(([left, right]) => `${left} ${right}`),
    },
  };
}

function vocabularyEntries({ vocabulary }: TrainedTokenizer): [string, number][] {
  return vocabulary.map((token, id) => [token, id]);
}
