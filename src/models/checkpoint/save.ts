/**
 * @file Saves a whole model folder: weights, configuration, tokenizer, chat template.
 *
 * The folder is written beside its place and then moved there, so it is complete or not there. A
 * folder that it replaces is moved aside first and removed last.
 */
import { existsSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import {
  copyDurably,
  makeFolder,
  removeIfPossible,
  syncFolder,
  writeJson,
  writeText,
} from "../../folders/index.ts";
import type { Dtype, Tensor } from "../../torch/index.ts";
import { GENERATION_FILE, type GenerationConfig, toGenerationJson } from "../config/generation.ts";
import type { ModelConfig } from "../config/model-config.ts";
import { toConfigJson } from "../config/write.ts";
import { type ShardOptions, writeCheckpoint } from "../safetensors/shards.ts";
import type { LaterTensor } from "../safetensors/writer.ts";
import { TEMPLATE_FILE } from "../tokenizer/chat/template.ts";
import { TOKENIZER_CONFIG_FILE } from "../tokenizer/files.ts";
import { ModelFileError, messageOf } from "./errors.ts";
import { neighbour } from "./folder.ts";
import { readJsonObject } from "./json.ts";
import { verifyCheckpoint } from "./verify.ts";

export interface ModelFolder {
  config: ModelConfig;
  /** By transformers' names. Exactly those of the configuration. */
  tensors: Iterable<readonly [string, Tensor | LaterTensor]>;
  /** Dtype of the weights on disk. Default: each tensor's own. */
  dtype?: Dtype;
  maximumShardBytes?: number;
  /** Default: the configuration's end of sequence, nothing about sampling. */
  generationConfig?: GenerationConfig;
  /** Where to copy the tokenizer's files from. */
  tokenizerFolder?: string;
  /** Takes the place of the tokenizer's own. */
  chatTemplate?: string;
  /** More files, by name: notes of a training run, for example. */
  extraFiles?: Readonly<Record<string, string>>;
}

/** What a tokenizer may consist of. */
const TOKENIZER_FILES = [
  ...["tokenizer.json", TOKENIZER_CONFIG_FILE, "special_tokens_map.json", "added_tokens.json"],
  ...["vocab.json", "merges.txt", "tokenizer.model", TEMPLATE_FILE, "chat_template.json"],
];

/** Writes the folder, in place of an older model of the same name if there is one. */
export function saveModelFolder(folder: string, model: ModelFolder): void {
  const target = resolve(folder);
  const partial = neighbour(target, "partial");
  recover(target);
  requireReplaceable(target, Object.keys(model.extraFiles ?? {}));
  try {
    rmSync(partial, { recursive: true, force: true });
    makeFolder(partial);
    writeContents(partial, model, target);
    syncFolder(partial);
    replaceFolder(partial, target);
  } catch (error) {
    // No room, no permission: nothing is there now that was not there before.
    removeIfPossible(partial);
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    throw new ModelFileError(
      target,
      `cannot be written (${messageOf(error)}); nothing else was changed. When the disk takes it, the same command ` +
        "makes it",
      { cause: error },
    );
  }
}

/** If an earlier save was interrupted between its two moves, the older model gets its place back. */
function recover(target: string): void {
  const replaced = neighbour(target, "replaced");
  if (!existsSync(replaced)) return;
  if (existsSync(target)) rmSync(replaced, { recursive: true, force: true });
  else renameSync(replaced, target);
}

function replaceFolder(partial: string, target: string): void {
  const replaced = neighbour(target, "replaced");
  if (existsSync(target)) renameSync(target, replaced);
  try {
    renameSync(partial, target);
  } catch (error) {
    if (existsSync(replaced)) renameSync(replaced, target);
    throw error;
  }
  syncFolder(dirname(target));
  rmSync(replaced, { recursive: true, force: true });
}

/** Only a model may be replaced: what else is in the folder would be lost. */
function requireReplaceable(target: string, extraFiles: readonly string[]): void {
  if (!existsSync(target)) return;
  const ours = (name: string): boolean =>
    /^model(-\d+-of-\d+)?\.safetensors(\.index\.json)?$/.test(name) ||
    ["config.json", GENERATION_FILE, ...TOKENIZER_FILES, ...extraFiles].includes(name);
  const foreign = statSync(target).isDirectory()
    ? readdirSync(target).find((name) => !ours(name))
    : "";
  if (foreign !== undefined)
    throw new ModelFileError(
      target,
      foreign === ""
        ? "is a file; expected a folder to save the model in"
        : `has ${foreign}, which is no part of a model and would be lost; save to another folder`,
    );
}

function writeContents(partial: string, model: ModelFolder, target: string): void {
  const { config, generationConfig, tokenizerFolder, chatTemplate } = model;
  const tensors = requiredTensors(new Map(model.tensors), config, target);
  const options: ShardOptions = {
    ...(model.dtype !== undefined && { dtype: model.dtype }),
    ...(model.maximumShardBytes !== undefined && { maximumShardBytes: model.maximumShardBytes }),
  };
  writeCheckpoint(partial, tensors, options);
  const dtype = model.dtype ?? tensors.values().next().value?.dtype ?? config.dtype;
  writeJson(join(partial, "config.json"), toConfigJson({ ...config, dtype }));
  writeJson(
    join(partial, GENERATION_FILE),
    toGenerationJson(generationConfig ?? defaultGeneration(config)),
  );
  if (tokenizerFolder !== undefined) copyTokenizer(tokenizerFolder, partial);
  if (chatTemplate !== undefined) writeTemplate(partial, chatTemplate);
  for (const [name, text] of Object.entries(model.extraFiles ?? {})) {
    if (name !== basename(name) || existsSync(join(partial, name)))
      throw new ModelFileError(target, `extraFiles: ${name} is not a file name of its own`);
    writeText(join(partial, name), text);
  }
}

/** The tensors of the configuration, in its order; a missing or wrong one is an error. */
function requiredTensors(
  tensors: ReadonlyMap<string, Tensor | LaterTensor>,
  config: ModelConfig,
  target: string,
): Map<string, Tensor | LaterTensor> {
  const names = verifyCheckpoint(
    {
      folder: target,
      names: [...tensors.keys()],
      has: (name) => tensors.has(name),
      info: (name) => {
        const { dtype, shape, byteLength } = tensors.get(name)!;
        return { dtype, shape, byteLength, file: target };
      },
    },
    config,
  );
  return new Map(names.map((name) => [name, tensors.get(name)!]));
}

function defaultGeneration(config: ModelConfig): GenerationConfig {
  const { eosTokenIds, bosTokenId, padTokenId } = config;
  const unsaid = { temperature: null, topP: null, topK: null, minP: null, repetitionPenalty: null };
  return { eosTokenIds, bosTokenId, padTokenId, sample: false, ...unsaid };
}

function copyTokenizer(from: string, to: string): void {
  if (!existsSync(join(from, "tokenizer.json")))
    throw new ModelFileError(from, "has no tokenizer.json to copy");
  for (const name of TOKENIZER_FILES)
    if (existsSync(join(from, name))) copyDurably(join(from, name), join(to, name));
}

/** In both places where readers look: the file of its own, and tokenizer_config.json. */
function writeTemplate(folder: string, template: string): void {
  writeText(join(folder, TEMPLATE_FILE), template);
  const file = join(folder, TOKENIZER_CONFIG_FILE);
  if (existsSync(file)) writeJson(file, { ...readJsonObject(file), chat_template: template });
}
