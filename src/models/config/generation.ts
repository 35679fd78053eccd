/**
 * @file generation_config.json: how a model wants to be sampled, and where it stops.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type JsonObject, readJsonObject } from "../checkpoint/json.ts";
import { Fields } from "./fields.ts";
import type { ModelConfig } from "./model-config.ts";
import { parseTokenIds } from "./parse.ts";
import { tokenIdsJson } from "./write.ts";

export interface GenerationConfig {
  /** Any of these ends a reply. */
  eosTokenIds: readonly number[];
  bosTokenId: number | null;
  padTokenId: number | null;
  /** false: greedy. */
  sample: boolean;
  temperature: number | null;
  topP: number | null;
  topK: number | null;
  minP: number | null;
  repetitionPenalty: number | null;
}

export const GENERATION_FILE = "generation_config.json";

/** What a model folder says about generation; where it says nothing, what its config says. */
export function readGenerationConfig(folder: string, config: ModelConfig): GenerationConfig {
  const file = join(folder, GENERATION_FILE);
  return parseGenerationConfig(existsSync(file) ? readJsonObject(file) : {}, config, file);
}

export function parseGenerationConfig(
  json: JsonObject,
  config: Pick<ModelConfig, "eosTokenIds" | "bosTokenId" | "padTokenId">,
  file = GENERATION_FILE,
): GenerationConfig {
  const fields = new Fields(json, file);
  const number = (key: string): number | null => (fields.has(key) ? fields.nonNegative(key) : null);
  const id = (key: string, fallback: number | null): number | null =>
    fields.has(key) ? fields.integer(key, undefined, 0) : fallback;
  return {
    eosTokenIds: fields.has("eos_token_id")
      ? parseTokenIds(fields, "eos_token_id", [])
      : config.eosTokenIds,
    bosTokenId: id("bos_token_id", config.bosTokenId),
    padTokenId: id("pad_token_id", config.padTokenId),
    sample: fields.boolean("do_sample", false),
    temperature: number("temperature"),
    topP: number("top_p"),
    topK: number("top_k"),
    minP: number("min_p"),
    repetitionPenalty: number("repetition_penalty"),
  };
}

/** The content of generation_config.json; what is not said is left out. */
export function toGenerationJson(config: GenerationConfig): Record<string, unknown> {
  const all = {
    bos_token_id: config.bosTokenId,
    eos_token_id: tokenIdsJson(config.eosTokenIds),
    pad_token_id: config.padTokenId,
    do_sample: config.sample,
    temperature: config.temperature,
    top_p: config.topP,
    top_k: config.topK,
    min_p: config.minP,
    repetition_penalty: config.repetitionPenalty,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null));
}
