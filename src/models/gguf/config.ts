/**
 * @file The metadata of a GGUF file as a ModelConfig: everything checked, nothing guessed.
 */
import { FAMILIES, familyComputation } from "../config/families.ts";
import { Fields, show } from "../config/fields.ts";
import type { Family, ModelConfig } from "../config/model-config.ts";
import type { GgufFile } from "./format/file.ts";
import { ROPE_FACTORS } from "./names.ts";
import { ropeIn, ropeOfDivisors } from "./rope.ts";

const IMPORTED: readonly Family[] = ["llama", "qwen2", "qwen3"];
const MAXIMUM_LAYERS = 10_000;

/** Metadata that would change the computation in a way we do not have, unless it is 0 or false. */
const FOREIGN = [
  ...["expert_count", "expert_used_count", "attention.sliding_window", "attention.max_alibi_bias"],
  ...["attn_logit_softcapping", "final_logit_softcapping", "attention.temperature_length"],
];
/** The same for factors, which may also be 1. */
const FACTORS = ["logit_scale", "attention.scale", "residual_scale", "embedding_scale"];

/** Sizes, rope and special tokens. The biases and the tied output layer are seen from the tensors. */
export function configOfGguf(gguf: GgufFile): ModelConfig {
  const { metadata, tensors, path } = gguf;
  const fields = new Fields(metadata, path);
  const family = familyIn(fields);
  const key = (name: string): string => `${family}.${name}`;
  for (const name of [...FOREIGN, ...FACTORS]) {
    const value = fields.raw(key(name));
    const isNone = !value || (value === 1 && FACTORS.includes(name));
    if (!isNone) fields.fail(key(name), `is ${show(value)}, which is not supported here`);
  }
  const layers = fields.integer(key("block_count"), undefined, 1, MAXIMUM_LAYERS);
  const hiddenSize = fields.integer(key("embedding_length"));
  const heads = sameForAll(fields, key("attention.head_count"));
  const keyValueHeads = sameForAll(fields, key("attention.head_count_kv"), heads);
  if (heads % keyValueHeads !== 0)
    fields.fail(
      key("attention.head_count_kv"),
      `is ${keyValueHeads}, which does not divide ${heads} heads`,
    );
  const headDimension = headDimensionIn(fields, key, hiddenSize, heads);
  const context = fields.integer(key("context_length"));
  const has = (name: string): boolean => tensors.has(name);
  const facts = FAMILIES[family];
  return {
    family,
    head: "causal-lm",
    labels: 0,
    vocabularySize: tensors.get("token_embd.weight")?.shape[0] ?? 0,
    ...{ hiddenSize, layers, heads, keyValueHeads, headDimension },
    intermediateSize: sameForAll(fields, key("feed_forward_length")),
    maximumPositions: context,
    normEpsilon: fields.number(key("attention.layer_norm_rms_epsilon")),
    tiedEmbeddings: !has("output.weight"),
    queryKeyValueBias:
      facts.bias === "always" || (facts.bias === "configured" && has("blk.0.attn_q.bias")),
    outputBias: facts.bias === "configured" && has("blk.0.attn_q.bias"),
    queryKeyNorm: facts.queryKeyNorm,
    ...familyComputation(facts),
    ...{ attentionScalar: null, localRope: null, withoutRope: [] },
    slidingWindows: new Array<null>(layers).fill(null),
    rope: ropeOf(gguf, fields, family, context, headDimension),
    ...specialTokens(fields),
    dtype: "float32",
    initializerRange: 0.02,
    attentionDropout: 0,
    remarks: [],
  };
}

function familyIn(fields: Fields): Family {
  const key = "general.architecture";
  const name = fields.string(key);
  const family = IMPORTED.find((one) => one === name);
  if (family === undefined)
    return fields.fail(key, `is ${show(name)}; supported are ${IMPORTED.join(", ")}`);
  const kind = fields.string("general.type", "model");
  if (kind !== "model") fields.fail("general.type", `is ${show(kind)}; expected a whole model`);
  if (fields.has("split.count") && fields.raw("split.count") !== 1)
    fields.fail("split.count", "says that the model is in several files; join them first");
  return family;
}

/** A number, or a list with the same one for every layer. */
function sameForAll(fields: Fields, key: string, otherwise?: number): number {
  const value = fields.raw(key);
  if (!(value instanceof Float64Array)) return fields.integer(key, otherwise);
  const [first = 0] = value;
  if (!Number.isInteger(first) || first < 1 || value.some((other) => other !== first))
    fields.fail(key, "differs between layers, which is not supported");
  return first;
}

function headDimensionIn(
  fields: Fields,
  key: (name: string) => string,
  hiddenSize: number,
  heads: number,
): number {
  if (!fields.has(key("attention.key_length")) && hiddenSize % heads !== 0)
    fields.fail(key("embedding_length"), `is ${hiddenSize}, which ${heads} heads do not divide`);
  const size = fields.integer(key("attention.key_length"), hiddenSize / heads);
  if (size % 2 !== 0)
    fields.fail(key("attention.key_length"), `is ${size}; expected an even number`);
  for (const name of ["attention.value_length", "rope.dimension_count"]) {
    const other = fields.integer(key(name), size);
    if (other !== size)
      fields.fail(key(name), `is ${other}; only a head's size (${size}) is supported`);
  }
  return size;
}

function ropeOf(
  gguf: GgufFile,
  fields: Fields,
  family: Family,
  context: number,
  headDimension: number,
): ModelConfig["rope"] {
  const rope = ropeIn(fields, family, context);
  const found = gguf.tensors.get(ROPE_FACTORS);
  if (found === undefined) return rope;
  const fail = (reason: string): never => fields.fail(`tensor ${ROPE_FACTORS}`, reason);
  if (family !== "llama" || rope.kind !== "default")
    return fail("is there beside another scaling of rope, which is not supported");
  if (found.elements !== headDimension / 2)
    return fail(`has ${found.elements} values; expected ${headDimension / 2}`);
  const tensor = gguf.load(ROPE_FACTORS, "float32");
  const divisors = tensor.toNumbers();
  tensor.dispose();
  return (
    ropeOfDivisors(divisors, rope.theta, headDimension) ??
    fail("scales frequencies in no way that is known here (Llama 3's is)")
  );
}

function specialTokens(
  fields: Fields,
): Pick<ModelConfig, "bosTokenId" | "eosTokenIds" | "padTokenId"> {
  const id = (name: string): number | null => tokenIdIn(fields, name);
  const ends = [id("eos"), id("eot"), id("eom")].filter((one) => one !== null);
  return { bosTokenId: id("bos"), eosTokenIds: [...new Set(ends)], padTokenId: id("padding") };
}

/** `tokenizer.ggml.NAME_token_id`; 2³² − 1 stands for none. */
export function tokenIdIn(fields: Fields, name: string): number | null {
  const key = `tokenizer.ggml.${name}_token_id`;
  if (!fields.has(key) || fields.raw(key) === 2 ** 32 - 1) return null;
  return fields.integer(key, undefined, 0);
}
