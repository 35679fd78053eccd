/**
 * @file The door of the models room.
 */

export type { ModelConfig } from "./config/model-config.ts";
export { readModelConfig } from "./config/parse.ts";
export { presetConfig, presets, valueModelConfig } from "./config/presets.ts";
export * from "./decoder/index.ts";
export { type Checkpoint, openCheckpoint } from "./safetensors/checkpoint.ts";
