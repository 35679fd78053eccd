/**
 * @file A tokenizer's files: read and checked before they are used.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ModelFileError, messageOf } from "../checkpoint/errors.ts";
import { isJsonObject, type JsonObject, readJsonObject, readText } from "../checkpoint/json.ts";
import { growthIn, patternProblem, patternsIn } from "./patterns.ts";
import { type NamedTokens, Tokenizer } from "./tokenizer.ts";

export const TOKENIZER_FILE = "tokenizer.json";
export const TOKENIZER_CONFIG_FILE = "tokenizer_config.json";

export interface TokenizerFiles {
  folder: string;
  tokenizer: JsonObject;
  config: JsonObject;
  namedTokens: NamedTokens;
  byteLevel: boolean;
  /** Whether tokens are texts with ▁ for spaces, or bytes (Gemma), and nothing else is done to them. */
  byteFallback: boolean;
}

/** Loads the tokenizer of a model folder. */
export function loadTokenizer(folder: string): Tokenizer {
  const file = join(folder, TOKENIZER_FILE);
  if (!existsSync(file) && existsSync(join(folder, "tokenizer.model")))
    throw new ModelFileError(
      folder,
      "has only tokenizer.model (SentencePiece); save the tokenizer with transformers to get " +
        TOKENIZER_FILE,
    );
  const tokenizer = readTokenizerJson(file);
  const config = readJsonObject(join(folder, TOKENIZER_CONFIG_FILE));
  const namedTokens = readNamedTokens(config, join(folder, TOKENIZER_CONFIG_FILE));
  const byteLevel = isByteLevel(tokenizer.decoder);
  const byteFallback = isByteFallback(tokenizer.decoder);
  try {
    const made = new Tokenizer({ folder, tokenizer, config, namedTokens, byteLevel, byteFallback });
    made.tryOut();
    return made;
  } catch (error) {
    if (error instanceof ModelFileError) throw error;
    throw new ModelFileError(file, `cannot be used as a tokenizer: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

const MOST_GROWTH = 100;

/** Checked as far as the library would otherwise fail late or silently. */
function readTokenizerJson(file: string): JsonObject {
  const fail = (reason: string): never => {
    throw new ModelFileError(file, reason);
  };
  let json: unknown;
  try {
    json = JSON.parse(readText(file));
  } catch (error) {
    if (error instanceof ModelFileError) throw error;
    return fail(`is not valid JSON (${messageOf(error)})`);
  }
  if (!isJsonObject(json)) return fail("is not a JSON object");
  const { model, added_tokens: added = [], normalizer, pre_tokenizer, decoder } = json;
  for (const pattern of patternsIn([normalizer, pre_tokenizer, decoder, json.post_processor])) {
    const problem = patternProblem(pattern);
    if (problem !== undefined)
      fail(`the pattern ${JSON.stringify(pattern.slice(0, 100))} could take for ever: ${problem}`);
  }
  if (!isJsonObject(model))
    return fail("model is missing; expected a tokenizer of the tokenizers library");
  if (growthIn([normalizer, pre_tokenizer]) > MOST_GROWTH)
    fail(`its replacements could make a text more than ${MOST_GROWTH} times longer`);
  const { vocab, merges, type } = model;
  if (!isJsonObject(vocab) && !Array.isArray(vocab)) return fail("model.vocab is missing");
  if (isJsonObject(vocab)) requireIds(vocab, fail);
  if (type === "BPE" && !Array.isArray(merges)) return fail("model.merges is missing");
  const isToken = (token: unknown): boolean =>
    isJsonObject(token) && typeof token.content === "string" && isId(token.id);
  if (!Array.isArray(added) || !added.every(isToken))
    return fail("added_tokens must be a list of objects with an id and a content");
  return { ...json, added_tokens: added };
}

/** No honest vocabulary has more; a large id would make the library allocate as much. */
const MAXIMUM_ID = 10_000_000;

function isId(value: unknown): boolean {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value < MAXIMUM_ID;
}

function requireIds(vocab: JsonObject, fail: (reason: string) => never): void {
  const taken = new Set<unknown>();
  for (const [token, id] of Object.entries(vocab)) {
    if (!isId(id)) fail(`model.vocab gives ${JSON.stringify(token)} the id ${JSON.stringify(id)}`);
    if (taken.has(id)) fail(`model.vocab gives the id ${id} to two tokens`);
    taken.add(id);
  }
}

/** A token is a string, or an object with its content. */
function readNamedTokens(config: JsonObject, file: string): NamedTokens {
  const read = (key: keyof NamedTokens): string | null => {
    const value = config[key] ?? null;
    const content = isJsonObject(value) ? value.content : value;
    if (content === null || typeof content === "string") return content;
    throw new ModelFileError(file, `${key} is ${JSON.stringify(value)}; expected a token or null`);
  };
  return {
    bos_token: read("bos_token"),
    eos_token: read("eos_token"),
    pad_token: read("pad_token"),
    unk_token: read("unk_token"),
  };
}

function isByteLevel(decoder: unknown): boolean {
  if (!isJsonObject(decoder)) return false;
  if (decoder.type === "ByteLevel") return true;
  const { decoders } = decoder;
  return (
    decoder.type === "Sequence" &&
    Array.isArray(decoders) &&
    decoders.length === 1 &&
    isByteLevel(decoders[0])
  );
}

function isByteFallback(decoder: unknown): boolean {
  if (!isJsonObject(decoder) || !Array.isArray(decoder.decoders)) return false;
  const [replace, ...rest] = decoder.decoders as unknown[];
  const types = rest.map((part) => isJsonObject(part) && part.type);
  return (
    isJsonObject(replace) &&
    replace.type === "Replace" &&
    replace.content === " " &&
    isJsonObject(replace.pattern) &&
    replace.pattern.String === "▁" &&
    types.join() === "ByteFallback,Fuse"
  );
}
