/**
 * @file A model folder in Hugging Face's format from a GGUF file: weights, configuration, tokenizer, template.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { makeFolder } from "../../folders/index.ts";
import type { Dtype, Tensor } from "../../torch/index.ts";
import { ModelFileError } from "../checkpoint/errors.ts";
import { requireNew } from "../checkpoint/folder.ts";
import { saveModelFolder } from "../checkpoint/save.ts";
import type { ModelConfig } from "../config/model-config.ts";
import { parameterCount, parameterShapes } from "../config/parameters.ts";
import { bytesPerElement } from "../safetensors/dtypes.ts";
import type { LaterTensor } from "../safetensors/writer.ts";
import { loadTokenizer } from "../tokenizer/files.ts";
import { configOfGguf } from "./config.ts";
import { type GgufFile, openGguf } from "./format/file.ts";
import { ggufName, neighboursToHalves, ROPE_FACTORS, reorderedHeads } from "./names.ts";
import { writeTokenizerFiles } from "./tokenizer/files.ts";
import { readVocabulary } from "./tokenizer/vocabulary.ts";

export interface ImportOptions {
  /** Of the weights on disk. Default: float32, the very numbers that the file's blocks stand for. */
  readonly dtype?: Extract<Dtype, "float32" | "bfloat16">;
  /** Called as weights are read: how many of how many numbers. */
  onProgress?(done: number, total: number): void;
}

/** Makes a model folder where there was nothing; it is complete or not there. Gives its configuration. */
export function importGguf(file: string, folder: string, options: ImportOptions = {}): ModelConfig {
  const { dtype = "float32" } = options;
  requireNew(folder);
  const gguf = openGguf(file);
  try {
    const config: ModelConfig = { ...configOfGguf(gguf), dtype };
    requireTensors(gguf, config);
    const vocabulary = readVocabulary(gguf.metadata, file, config.vocabularySize);
    const parent = dirname(resolve(folder));
    makeFolder(parent);
    const tokenizerFolder = mkdtempSync(join(parent, ".tokenizer-"));
    try {
      writeTokenizerFiles(tokenizerFolder, vocabulary, config.maximumPositions);
      requireTokenizer(tokenizerFolder, file);
      saveWeights(gguf, folder, config, { ...options, dtype, tokenizerFolder });
    } finally {
      rmSync(tokenizerFolder, { recursive: true, force: true });
    }
    return config;
  } finally {
    gguf.close();
  }
}

/** Throws an error that names what is missing, too much, or of another shape, before anything is read. */
function requireTensors({ tensors, path }: GgufFile, config: ModelConfig): void {
  const expected = new Map(
    [...parameterShapes(config)].map(([name, shape]) => [ggufName(name), shape]),
  );
  const fail = (reason: string): never => {
    throw new ModelFileError(path, `its tensors are not those of its metadata: ${reason}`);
  };
  for (const [name, shape] of expected) {
    const found = tensors.get(name)?.shape;
    if (found === undefined) fail(`${name} is missing`);
    if (String(found) !== String(shape))
      fail(`${name} has the shape [${found}] instead of [${shape}]`);
  }
  for (const name of tensors.keys())
    if (!expected.has(name) && name !== ROPE_FACTORS)
      fail(`${JSON.stringify(name.slice(0, 100))} is not expected`);
}

/** What is wrong with the files that were made is wrong with what they were made from. */
function requireTokenizer(folder: string, file: string): void {
  try {
    loadTokenizer(folder);
  } catch (error) {
    if (!(error instanceof ModelFileError)) throw error;
    throw new ModelFileError(file, `its tokenizer cannot be used: ${error.reason}`, {
      cause: error,
    });
  }
}

/** One tensor after the other: the model is never in memory as a whole. */
function saveWeights(
  gguf: GgufFile,
  folder: string,
  config: ModelConfig,
  { dtype, tokenizerFolder, onProgress }: ImportOptions & { dtype: Dtype; tokenizerFolder: string },
): void {
  let done = 0;
  const total = parameterCount(config);
  const later = (name: string, shape: readonly number[]): LaterTensor => {
    const numel = gguf.tensors.get(ggufName(name))!.elements;
    const load = (): Tensor => {
      const stored = gguf.load(ggufName(name), dtype);
      const heads = reorderedHeads(name, config);
      done += numel;
      onProgress?.(done, total);
      return heads === undefined ? stored : neighboursToHalves(stored, heads);
    };
    return { dtype, shape, numel, byteLength: numel * bytesPerElement(dtype), load };
  };
  const tensors = [...parameterShapes(config)].map(
    ([name, shape]) => [name, later(name, shape)] as const,
  );
  saveModelFolder(folder, { config, tensors, dtype, tokenizerFolder });
}
