/**
 * @file Models from folders, and back: configuration, weights, tokenizer together.
 */
import { type Dtype, tidy } from "../torch/index.ts";
import { type ModelFolder, saveModelFolder } from "./checkpoint/save.ts";
import { readModelConfig } from "./config/parse.ts";
import { type LoadModelOptions, type Model, modelFromCheckpoint } from "./decoder/model.ts";
import { openCheckpoint } from "./safetensors/checkpoint.ts";

/** Loads a model folder. Weights that are not exactly those of its config.json are refused. */
export function loadModel(folder: string, options: LoadModelOptions = {}): Model {
  const config = readModelConfig(folder);
  const checkpoint = openCheckpoint(folder);
  try {
    return modelFromCheckpoint(config, checkpoint, options);
  } finally {
    checkpoint.close();
  }
}

export interface SaveModelOptions extends Omit<ModelFolder, "config" | "tensors" | "dtype"> {
  /** Dtype on disk. Default: each weight's own in memory. */
  dtype?: Dtype;
}

/**
 * Saves a model as a folder that transformers, vLLM and llama.cpp's converter read. An adapter's part
 * is in the weights; the model in memory stays as it is.
 */
export function saveModel(model: Model, folder: string, options: SaveModelOptions = {}): void {
  tidy(() =>
    saveModelFolder(folder, { ...options, config: model.config, tensors: model.weights() }),
  );
}
