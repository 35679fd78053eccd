/**
 * @file tokenizer.json and tokenizer_config.json of a GGUF file's vocabulary.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { writeJson, writeText } from "../../../folders/index.ts";
import { ModelFileError } from "../../checkpoint/errors.ts";
import { isJsonObject, type JsonObject, parseJsonObject } from "../../checkpoint/json.ts";
import { show } from "../../config/fields.ts";
import { TEMPLATE_FILE } from "../../tokenizer/chat/template.ts";
import { TOKENIZER_CONFIG_FILE, TOKENIZER_FILE } from "../../tokenizer/files.ts";
import { byteLevel, ruleNamed } from "./pre-tokenizers.ts";
import { mergesOfScores, sentencePieceParts } from "./sentence-piece.ts";
import { type GgufVocabulary, KIND } from "./vocabulary.ts";

/** Writes the files into a folder, which is made. */
export function writeTokenizerFiles(
  folder: string,
  vocabulary: GgufVocabulary,
  maximumLength: number,
): void {
  mkdirSync(folder, { recursive: true });
  const { huggingFace } = vocabulary;
  const json =
    huggingFace === undefined ? tokenizerJson(vocabulary) : given(huggingFace, vocabulary);
  writeText(join(folder, TOKENIZER_FILE), `${JSON.stringify(json, null, 1)}\n`);
  const config = tokenizerConfigJson(vocabulary, json, maximumLength);
  writeJson(join(folder, TOKENIZER_CONFIG_FILE), config);
  if (vocabulary.chatTemplate !== undefined)
    writeText(join(folder, TEMPLATE_FILE), vocabulary.chatTemplate);
}

export function tokenizerJson(vocabulary: GgufVocabulary): JsonObject {
  const { tokens, kinds, model } = vocabulary;
  const used = [...tokens.entries()].filter(([id]) => kinds[id] !== KIND.unused);
  const common = {
    vocab: Object.fromEntries(used.map(([id, token]) => [token, id])),
    dropout: null,
    continuing_subword_prefix: null,
    end_of_word_suffix: null,
  };
  const head = { version: "1.0", truncation: null, padding: null };
  const added_tokens = addedTokens(vocabulary);
  const post_processor = postProcessor(vocabulary);
  if (model === "llama")
    return {
      ...{
        ...head,
        added_tokens,
        ...sentencePieceParts(vocabulary.addSpacePrefix),
        post_processor,
      },
      model: {
        ...{ type: "BPE", ...common, unk_token: unknownToken(vocabulary) },
        ...{ fuse_unk: true, byte_fallback: true, ignore_merges: false },
        // Pairs, because these tokens may have spaces in them.
        merges: mergesOfScores(vocabulary),
      },
    };
  const { normalizer, preTokenizer, ignoreMerges } = ruleNamed(vocabulary.pre, vocabulary.file);
  return {
    ...{ ...head, added_tokens, normalizer, pre_tokenizer: preTokenizer, post_processor },
    decoder: byteLevel(true),
    model: {
      ...{ type: "BPE", ...common, unk_token: null },
      ...{ fuse_unk: false, byte_fallback: false, ignore_merges: ignoreMerges },
      merges: vocabulary.merges,
    },
  };
}

/** Tokens that are found before anything is cut or merged; those that control are special. */
export function addedTokens({ tokens, kinds }: GgufVocabulary) {
  const isAdded = (kind: number | undefined): boolean =>
    kind === KIND.control || kind === KIND.userDefined || kind === KIND.unknown;
  const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false };
  return [...tokens.entries()]
    .filter(([id]) => isAdded(kinds[id]))
    .map(([id, content]) => ({ id, content, ...flags, special: kinds[id] !== KIND.userDefined }));
}

function unknownToken({ tokens, unknown, kinds }: GgufVocabulary): string | null {
  const id = unknown ?? tokens.findIndex((_, i) => kinds[i] === KIND.unknown);
  return tokens[id] ?? null;
}

/** What is put before a text where special tokens are asked for. */
function postProcessor({ model, tokens, bos, addBos }: GgufVocabulary): object | null {
  const own = model === "gpt2" ? byteLevel(true) : null;
  const token = addBos && bos !== null ? tokens[bos] : undefined;
  if (token === undefined) return own;
  const [special, text] = [
    { SpecialToken: { id: token, type_id: 0 } },
    (id: string) => ({ Sequence: { id, type_id: 0 } }),
  ];
  const template = {
    type: "TemplateProcessing",
    single: [special, text("A")],
    pair: [special, text("A"), { SpecialToken: { id: token, type_id: 1 } }, text("B")],
    special_tokens: { [token]: { id: token, ids: [bos], tokens: [token] } },
  };
  return own === null ? template : { type: "Sequence", processors: [own, template] };
}

function tokenizerConfigJson(
  vocabulary: GgufVocabulary,
  json: JsonObject,
  maximumLength: number,
): object {
  const { tokens, bos, eos, pad, unknown, addBos, chatTemplate } = vocabulary;
  const named = (id: number | null): string | null => (id === null ? null : (tokens[id] ?? null));
  const added = Array.isArray(json.added_tokens) ? json.added_tokens.filter(isJsonObject) : [];
  return {
    add_bos_token: addBos && bos !== null,
    add_prefix_space: false,
    added_tokens_decoder: Object.fromEntries(added.map(({ id, ...token }) => [String(id), token])),
    ...{ bos_token: named(bos), eos_token: named(eos) },
    ...{ pad_token: named(pad), unk_token: named(unknown) },
    ...(chatTemplate !== undefined && { chat_template: chatTemplate }),
    clean_up_tokenization_spaces: false,
    model_max_length: maximumLength,
    tokenizer_class: "PreTrainedTokenizerFast",
  };
}

/** A tokenizer.json in the metadata must be that of the same tokens: the weights belong to their ids. */
function given(text: string, { tokens, kinds, file }: GgufVocabulary): JsonObject {
  const name = `${file}: tokenizer.huggingface.json`;
  const json = parseJsonObject(text, name);
  const model = isJsonObject(json.model) ? json.model : {};
  const vocab = isJsonObject(model.vocab) ? model.vocab : {};
  const ids = new Map<string, unknown>(Object.entries(vocab));
  for (const token of Array.isArray(json.added_tokens) ? json.added_tokens : [])
    if (isJsonObject(token)) ids.set(String(token.content), token.id);
  const beyond = [...ids].find(([, id]) => !(Number(id) < tokens.length));
  if (beyond !== undefined)
    throw new ModelFileError(
      name,
      `gives ${show(beyond[0])} the id ${show(beyond[1])}; there are ${tokens.length} tokens`,
    );
  for (const [id, token] of tokens.entries())
    if (kinds[id] !== KIND.unused && ids.get(token) !== id)
      throw new ModelFileError(
        name,
        `gives ${show(token)} the id ${show(ids.get(token))}; tokenizer.ggml.tokens gives it ${id}`,
      );
  return json;
}
