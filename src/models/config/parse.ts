/**
 * @file config.json as a ModelConfig: everything checked, nothing guessed.
 */
import { join } from "node:path";
import type { Dtype } from "../../torch/index.ts";
import { requireFolder } from "../checkpoint/folder.ts";
import { type JsonObject, readJsonObject } from "../checkpoint/json.ts";
import {
  ARCHITECTURES,
  everyLayer,
  FAMILIES,
  type FamilyFacts,
  familyComputation,
  SMOLLM3_INTERVAL,
} from "./families.ts";
import { Fields, show } from "./fields.ts";
import type { Family, Head, ModelConfig } from "./model-config.ts";
import { parseRopes } from "./rope.ts";
import { refuseUnsupported } from "./unsupported.ts";
import { parseWindows } from "./windows.ts";

/** No model has more; each layer becomes an entry in a list. */
const MAXIMUM_LAYERS = 10_000;

/** Reads a model folder's config.json. */
export function readModelConfig(folder: string): ModelConfig {
  const file = join(folder, "config.json");
  requireFolder(folder);
  return parseModelConfig(readJsonObject(file), file);
}

/**
 * Checks a config.json's content and brings it into one form. An unknown architecture or an option
 * that we do not have is an error that names the key. Keys that may be left out take the defaults of
 * transformers' class for the family; the sizes may not.
 */
export function parseModelConfig(json: JsonObject, file = "config.json"): ModelConfig {
  const fields = new Fields(json, file);
  const { family, head } = parseArchitecture(fields);
  const facts = FAMILIES[family];
  refuseUnsupported(fields, facts);
  const hiddenSize = fields.integer("hidden_size");
  const layers = fields.integer("num_hidden_layers", undefined, 1, MAXIMUM_LAYERS);
  const heads = fields.integer("num_attention_heads");
  const headDimension = parseHeadDimension(fields, facts, hiddenSize, heads);
  const maximumPositions = fields.integer("max_position_embeddings", facts.maximumPositions);
  const attentionDropout = fields.nonNegative("attention_dropout", 0);
  const biased = facts.bias === "configured" && fields.boolean("attention_bias", false);
  const withoutRope = parseWithoutRope(fields, facts, layers);
  return {
    family,
    head,
    labels: head === "causal-lm" ? 0 : parseLabels(fields),
    vocabularySize: fields.integer("vocab_size"),
    hiddenSize,
    layers,
    heads,
    keyValueHeads: parseKeyValueHeads(fields, facts, heads),
    headDimension,
    intermediateSize: fields.integer("intermediate_size"),
    maximumPositions,
    normEpsilon: fields.number("rms_norm_eps", 1e-6),
    tiedEmbeddings: fields.boolean("tie_word_embeddings", facts.tiedEmbeddings),
    queryKeyValueBias: biased || facts.bias === "always",
    outputBias: biased,
    queryKeyNorm: facts.queryKeyNorm,
    ...familyComputation(facts),
    attentionScalar: facts.gemma ? fields.number("query_pre_attn_scalar", 256) : null,
    slidingWindows: parseWindows(fields, facts, layers, withoutRope),
    ...parseRopes(fields, facts, maximumPositions, headDimension),
    withoutRope,
    bosTokenId: parseTokenId(fields, "bos_token_id", facts.bosTokenId),
    eosTokenIds: parseTokenIds(fields, "eos_token_id", facts.eosTokenIds),
    padTokenId: parseTokenId(fields, "pad_token_id", facts.padTokenId),
    dtype: parseDtype(fields),
    initializerRange: fields.nonNegative("initializer_range", 0.02),
    attentionDropout,
    remarks:
      attentionDropout > 0
        ? [`${file}: attention_dropout is ${attentionDropout}; it is not applied in training here`]
        : [],
  };
}

function parseArchitecture(fields: Fields): { family: Family; head: Head } {
  const supported = [...ARCHITECTURES.keys()].join(", ");
  const names = fields.strings("architectures");
  const type = fields.has("model_type") ? fields.string("model_type") : undefined;
  if (names === undefined || names.length === 0) {
    if (type === undefined)
      return fields.fail("architectures", `is missing; expected one of ${supported}`);
    if (!Object.hasOwn(FAMILIES, type))
      return fields.fail("model_type", `is ${show(type)}; supported are ${Object.keys(FAMILIES)}`);
    return { family: type as Family, head: "causal-lm" };
  }
  const found = names.length === 1 ? ARCHITECTURES.get(names[0]!) : undefined;
  if (found === undefined)
    return fields.fail("architectures", `is ${show(names)}; expected one of ${supported}`);
  if (type !== undefined && type !== found.family)
    return fields.fail("model_type", `is ${show(type)}, but the architecture is ${names[0]}`);
  return found;
}

/** SmolLM3: a list with 0 for each layer that has none, or every so many layers one. */
function parseWithoutRope(fields: Fields, facts: FamilyFacts, layers: number): readonly number[] {
  if (!facts.layersWithoutRope) return [];
  const flags = fields.raw("no_rope_layers");
  if (flags === undefined)
    return everyLayer(layers, fields.integer("no_rope_layer_interval", SMOLLM3_INTERVAL));
  if (!Array.isArray(flags) || flags.length !== layers || flags.some((i) => i !== 0 && i !== 1))
    return fields.fail(
      "no_rope_layers",
      `is ${show(flags)}; expected a list of 0 (none) and 1, one for each of ${layers} layers`,
    );
  return flags.flatMap((has, i) => (has === 0 ? [i] : []));
}

/** transformers writes the labels' names; their number is that of the head's outputs. */
function parseLabels(fields: Fields): number {
  const names = fields.object("id2label")?.keys().length;
  const labels = fields.integer("num_labels", names ?? 2);
  if (names !== undefined && names !== labels)
    fields.fail("num_labels", `is ${labels}, but id2label has ${names} entries`);
  return labels;
}

function parseKeyValueHeads(fields: Fields, facts: FamilyFacts, heads: number): number {
  const sameAsHeads = facts.keyValueHeads === null || fields.isNull("num_key_value_heads");
  const count = fields.integer("num_key_value_heads", sameAsHeads ? heads : undefined);
  if (heads % count !== 0)
    fields.fail("num_key_value_heads", `is ${count}, which does not divide ${heads} heads`);
  return count;
}

function parseHeadDimension(
  fields: Fields,
  facts: FamilyFacts,
  hiddenSize: number,
  heads: number,
): number {
  const key = "head_dim";
  if (!fields.has(key) && facts.headDimension === null && hiddenSize % heads !== 0)
    fields.fail("hidden_size", `is ${hiddenSize}, which ${heads} heads do not divide`);
  const size = fields.integer(key, facts.headDimension ?? hiddenSize / heads);
  if (size % 2 !== 0) fields.fail(key, `is ${size}; the rotary embedding needs an even number`);
  return size;
}

/** null in the file means none; only a missing key takes the family's default. */
function parseTokenId(fields: Fields, key: string, fallback: number | null): number | null {
  if (fields.has(key)) return fields.integer(key, undefined, 0);
  return fields.isNull(key) ? null : fallback;
}

export function parseTokenIds(
  fields: Fields,
  key: string,
  fallback: readonly number[],
): readonly number[] {
  const value = fields.raw(key);
  if (value === undefined) return fields.isNull(key) ? [] : fallback;
  const ids = Array.isArray(value) ? value : [value];
  if (!ids.every((id) => Number.isSafeInteger(id) && id >= 0))
    fields.fail(key, `is ${show(value)}; expected a token id or a list of them`);
  return ids as number[];
}

/** `dtype` is the newer name of `torch_dtype`. */
function parseDtype(fields: Fields): Dtype | null {
  const key = fields.has("dtype") ? "dtype" : "torch_dtype";
  if (!fields.has(key)) return null;
  const name = fields.string(key).replace(/^torch\./, "");
  if (name === "float32" || name === "bfloat16" || name === "float16") return name;
  return fields.fail(key, `is ${show(name)}; expected float32, bfloat16 or float16`);
}
