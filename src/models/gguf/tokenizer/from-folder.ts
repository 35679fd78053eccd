/**
 * @file The tokenizer of a model folder as a GGUF vocabulary.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ModelFileError } from "../../checkpoint/errors.ts";
import { isJsonObject, type JsonObject, readJsonObject, readText } from "../../checkpoint/json.ts";
import { loadChatTemplate, TEMPLATE_FILE } from "../../tokenizer/chat/template.ts";
import { loadTokenizer, TOKENIZER_CONFIG_FILE, TOKENIZER_FILE } from "../../tokenizer/files.ts";
import type { Tokenizer } from "../../tokenizer/tokenizer.ts";
import { tokenizerJson } from "./files.ts";
import { essence, nameOfRule } from "./pre-tokenizers.ts";
import { type GgufVocabulary, KIND } from "./vocabulary.ts";

export interface ExportedVocabulary {
  readonly vocabulary: GgufVocabulary;
  /** What llama.cpp will do differently, in sentences. */
  readonly remarks: readonly string[];
}

type Merge = readonly [string, string];

/** `rows`: of the embedding; those without a token get a name that no text has. */
export function vocabularyOfFolder(folder: string, rows: number): ExportedVocabulary {
  const tokenizer = loadTokenizer(folder);
  const file = join(folder, TOKENIZER_FILE);
  const text = readText(file);
  const json = JSON.parse(text) as JsonObject;
  const model = isJsonObject(json.model) ? json.model : {};
  if (tokenizer.vocabularySize > rows)
    throw new ModelFileError(
      file,
      `has ${tokenizer.vocabularySize} tokens, the model only ${rows} rows: llama.cpp takes no such model`,
    );
  const isPieces = !tokenizer.byteLevel && model.byte_fallback === true;
  if (model.type !== "BPE" || !(tokenizer.byteLevel || isPieces))
    throw new ModelFileError(
      file,
      "is neither byte-level BPE nor BPE with bytes for what it does not know; llama.cpp has no other here",
    );
  const rule = tokenizer.byteLevel ? nameOfRule(json.pre_tokenizer) : { name: "default" };
  if (rule === undefined)
    throw new ModelFileError(
      file,
      "cuts text into words in a way (pre_tokenizer) that llama.cpp has no name for",
    );
  const merges = mergesIn(model.merges);
  const tokens = Array.from({ length: rows }, (_, id) => tokenizer.idToToken(id) ?? `[PAD${id}]`);
  const found: GgufVocabulary = {
    file,
    model: tokenizer.byteLevel ? "gpt2" : "llama",
    pre: rule.name,
    tokens,
    kinds: tokens.map((token, id) => kindOf(tokenizer, token, id, isPieces)),
    merges: tokenizer.byteLevel ? merges.map((pair) => pair.join(" ")) : [],
    scores: isPieces ? scoresOf(tokens, merges) : [],
    ...{ bos: tokenizer.bosTokenId, eos: tokenizer.eosTokenId, pad: tokenizer.padTokenId },
    unknown: tokenizer.tokenToId(tokenizer.namedTokens.unk_token ?? "") ?? null,
    // What it does, not what it says: there are several ways to say it.
    addBos:
      tokenizer.bosTokenId !== null &&
      tokenizer.encode("a", { addSpecialTokens: true })[0] === tokenizer.bosTokenId,
    addSpacePrefix: isPieces && tokenizer.idToToken(tokenizer.encode("a")[0] ?? -1)?.[0] === "▁",
    chatTemplate: hasTemplate(folder) ? loadChatTemplate(folder).source : undefined,
    huggingFace: undefined,
  };
  const isSame = partsOf(tokenizerJson(found)) === partsOf(json);
  return {
    vocabulary: isSame ? found : { ...found, huggingFace: text },
    remarks: "remark" in rule && rule.remark !== undefined ? [rule.remark] : [],
  };
}

function hasTemplate(folder: string): boolean {
  const { chat_template: own } = readJsonObject(join(folder, TOKENIZER_CONFIG_FILE));
  return existsSync(join(folder, TEMPLATE_FILE)) || (own ?? null) !== null;
}

function kindOf(tokenizer: Tokenizer, token: string, id: number, isPieces: boolean): number {
  if (tokenizer.idToToken(id) === undefined) return KIND.unused;
  if (isPieces && token === tokenizer.namedTokens.unk_token) return KIND.unknown;
  if (tokenizer.specialIds.has(id)) return KIND.control;
  if (tokenizer.addedIds.has(id)) return KIND.userDefined;
  return isPieces && /^<0x[0-9A-F]{2}>$/.test(token) ? KIND.byte : KIND.normal;
}

/** Pairs, or the older spelling: two tokens with a space between them. */
function mergesIn(merges: unknown): Merge[] {
  if (!Array.isArray(merges)) return [];
  return merges.map((merge: unknown): Merge => {
    const [left = "", right = ""] = Array.isArray(merge)
      ? (merge as string[])
      : String(merge).split(" ");
    return [left, right];
  });
}

/** Below every token that merges make. */
const NEVER = -1e6;

/** The earlier a merge, the higher its token's score. */
function scoresOf(tokens: readonly string[], merges: readonly Merge[]): number[] {
  const ranks = new Map<string, number>();
  for (const [rank, [left, right]] of merges.entries())
    if (!ranks.has(left + right)) ranks.set(left + right, rank);
  return tokens.map((token) => {
    const rank = ranks.get(token);
    return rank === undefined ? NEVER : 0 - rank;
  });
}

/** What two tokenizers must have in common to give the same tokens for every text. */
function partsOf(json: JsonObject): string {
  const model = isJsonObject(json.model) ? json.model : {};
  const added = Array.isArray(json.added_tokens) ? json.added_tokens.filter(isJsonObject) : [];
  const ids = new Map<string, unknown>(
    isJsonObject(model.vocab) ? Object.entries(model.vocab) : undefined,
  );
  for (const { content, id } of added) ids.set(String(content), id);
  const byId = [...added].sort((a, b) => Number(a.id) - Number(b.id));
  // Nothing that a byte-level decoder says makes a difference.
  const decoder =
    isJsonObject(json.decoder) && json.decoder.type === "ByteLevel" ? 0 : json.decoder;
  return JSON.stringify([
    [...ids].sort(([, a], [, b]) => Number(a) - Number(b)),
    mergesIn(model.merges),
    [model.ignore_merges === true, model.byte_fallback === true],
    byId.map(({ id, special, lstrip, rstrip, single_word, normalized }) =>
      [id, special, lstrip, rstrip, single_word, normalized].join(),
    ),
    [json.normalizer, json.pre_tokenizer, decoder].map((part) => essence(part ?? null)),
  ]);
}
