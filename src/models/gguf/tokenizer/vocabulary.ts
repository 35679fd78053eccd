/**
 * @file The tokenizer in a GGUF file's metadata: tokens with their kinds, merges or scores, special tokens.
 */
import { ModelFileError } from "../../checkpoint/errors.ts";
import type { JsonObject } from "../../checkpoint/json.ts";
import { Fields, show } from "../../config/fields.ts";
import { tokenIdIn } from "../config.ts";

/** What a token is, as the file numbers it. */
export const KIND = {
  normal: 1,
  unknown: 2,
  control: 3,
  userDefined: 4,
  unused: 5,
  byte: 6,
} as const;

export interface GgufVocabulary {
  readonly file: string;
  /** "gpt2": byte-level BPE; "llama": SentencePiece's BPE with bytes for what it does not know. */
  readonly model: "gpt2" | "llama";
  /** The name of the rule that cuts text into words. */
  readonly pre: string;
  /** By id. */
  readonly tokens: readonly string[];
  /** Of each token: one of KIND. */
  readonly kinds: ArrayLike<number>;
  /** "gpt2": "left right", in the order in which they are applied. */
  readonly merges: readonly string[];
  /** "llama": the pair with the highest one is merged first. */
  readonly scores: ArrayLike<number>;
  readonly bos: number | null;
  readonly eos: number | null;
  readonly pad: number | null;
  readonly unknown: number | null;
  readonly addBos: boolean;
  /** "llama": whether a text begins with a space that nobody wrote. */
  readonly addSpacePrefix: boolean;
  readonly chatTemplate: string | undefined;
  /** A whole tokenizer.json, in files whose tokenizer llama.cpp has no name for. */
  readonly huggingFace: string | undefined;
}

/** Rules after which llama.cpp puts the first token before a text if nobody says anything. */
const BEGINS_BY_ITSELF = ["llama-bpe", "llama3", "llama-v3"];

/** `rows`: of the embedding; no token may have an id beyond. */
export function readVocabulary(metadata: JsonObject, file: string, rows: number): GgufVocabulary {
  const fields = new Fields(metadata, file);
  const key = (name: string): string => `tokenizer.ggml.${name}`;
  const model = fields.string(key("model"));
  if (model !== "gpt2" && model !== "llama")
    return fields.fail(key("model"), `is ${show(model)}; supported are gpt2 and llama`);
  const tokens = fields.strings(key("tokens")) ?? fields.fail(key("tokens"), "is missing");
  if (tokens.length === 0 || tokens.length > rows)
    fields.fail(key("tokens"), `has ${tokens.length} entries; the model has ${rows} rows for them`);
  const numbers = (name: string): ArrayLike<number> => {
    const value = fields.raw(key(name));
    if (!(value instanceof Float64Array) || value.length !== tokens.length)
      return fields.fail(
        key(name),
        `must be a list of ${tokens.length} numbers, one for each token`,
      );
    return value;
  };
  const isByteLevel = model === "gpt2";
  const kinds = fields.has(key("token_type"))
    ? numbers("token_type")
    : tokens.map((): number => KIND.normal);
  const pre = fields.string(key("pre"), "default");
  const id = (name: string): number | null => {
    const found = tokenIdIn(fields, name);
    if (found !== null && found >= tokens.length)
      fields.fail(key(`${name}_token_id`), `is ${found}; there are ${tokens.length} tokens`);
    return found;
  };
  requireApart(tokens, kinds, file);
  return {
    ...{ file, model, pre, tokens, kinds },
    merges: isByteLevel ? mergesIn(fields, key("merges")) : [],
    scores: isByteLevel ? [] : numbers("scores"),
    ...{ bos: id("bos"), eos: id("eos"), pad: id("padding"), unknown: id("unknown") },
    addBos: fields.boolean(key("add_bos_token"), !isByteLevel || BEGINS_BY_ITSELF.includes(pre)),
    addSpacePrefix: fields.boolean(key("add_space_prefix"), true),
    chatTemplate: fields.has("tokenizer.chat_template")
      ? fields.string("tokenizer.chat_template")
      : undefined,
    huggingFace: fields.has("tokenizer.huggingface.json")
      ? fields.string("tokenizer.huggingface.json")
      : undefined,
  };
}

function mergesIn(fields: Fields, key: string): readonly string[] {
  const merges = fields.strings(key) ?? fields.fail(key, "is missing");
  const wrong = merges.find((merge) => !/^[^ ]+ [^ ]+$/.test(merge));
  if (wrong !== undefined) fields.fail(key, `has ${show(wrong)}; expected two tokens and a space`);
  return merges;
}

/** A text with two ids would lose one of them in tokenizer.json. */
function requireApart(tokens: readonly string[], kinds: ArrayLike<number>, file: string): void {
  const known = new Set<string>();
  for (const [id, token] of tokens.entries()) {
    if (kinds[id] === KIND.unused) continue;
    if (known.has(token))
      throw new ModelFileError(file, `tokenizer.ggml.tokens has ${show(token)} twice`);
    known.add(token);
  }
}
