/**
 * @file A new model folder: a tokenizer learned from text, and random weights that fit it.
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { type Dtype, Generator } from "../torch/index.ts";
import { requireNew } from "./checkpoint/folder.ts";
import type { ModelConfig } from "./config/model-config.ts";
import { readModelConfig } from "./config/parse.ts";
import { startMatching } from "./decoder/matching.ts";
import { newModel } from "./decoder/model.ts";
import { composeNames } from "./decoder/names.ts";
import { saveModel } from "./folder.ts";
import { loadTokenizer } from "./tokenizer/files.ts";
import { trainTokenizer, writeTokenizer } from "./tokenizer/train.ts";
import type { Numbers } from "./tokenizer/words.ts";

export interface InitOptions {
  /** Sizes and family. Vocabulary and special tokens become the tokenizer's. */
  config: ModelConfig;
  /** What the tokenizer learns from. */
  texts: Iterable<string>;
  /** Tokens that it may have; a small text may give fewer. Default: the configuration's. */
  vocabularySize?: number;
  /** How the tokenizer cuts numbers. Default: apart. */
  numbers?: Numbers;
  seed: number;
  /** Dtype on disk. Default: float32. */
  dtype?: Dtype;
  /** Whether attention begins by matching (matching.ts). Default: at random. */
  matching?: boolean;
  /** Whether a model that is there already is kept as it is. Default: that is an error. */
  keepExisting?: boolean;
}

/** Makes a model folder that transformers can read, where there was nothing; gives its config. */
export function initModelFolder(folder: string, options: InitOptions): ModelConfig {
  const {
    config,
    texts,
    vocabularySize = config.vocabularySize,
    numbers = "apart",
    seed,
    dtype = "float32",
  } = options;
  if (options.keepExisting && existsSync(join(folder, "config.json")))
    return readModelConfig(folder);
  requireNew(folder, ", or keep it (keepExisting)");
  const trained = trainTokenizer(texts, { vocabularySize, numbers });
  const parent = dirname(resolve(folder));
  mkdirSync(parent, { recursive: true });
  const tokenizerFolder = mkdtempSync(join(parent, ".tokenizer-"));
  try {
    writeTokenizer(tokenizerFolder, trained, { maximumLength: config.maximumPositions });
    const { eosTokenId, padTokenId, bosTokenId } = loadTokenizer(tokenizerFolder);
    const own: ModelConfig = {
      ...config,
      vocabularySize: trained.vocabularySize,
      bosTokenId,
      eosTokenIds: eosTokenId === null ? [] : [eosTokenId],
      padTokenId,
      dtype,
    };
    const generator = new Generator(seed);
    const model = newModel(own, generator);
    try {
      if (numbers === "named") composeNames(model, trained.vocabulary, generator);
      if (options.matching) startMatching(model);
      saveModel(model, folder, { tokenizerFolder, dtype });
    } finally {
      model.dispose();
    }
    return own;
  } finally {
    rmSync(tokenizerFolder, { recursive: true, force: true });
  }
}
