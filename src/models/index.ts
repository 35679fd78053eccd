/**
 * @file The door of the models room: Hugging Face folders in and out, tokenizers and conversations,
 * models in memory and their forward pass.
 */
export { ModelFileError } from "./checkpoint/errors.ts";
export { type ModelFolder, saveModelFolder } from "./checkpoint/save.ts";
export { type VerifyOptions, verifyCheckpoint } from "./checkpoint/verify.ts";
export { inverseFrequencies, type RotaryFrequencies } from "./config/frequencies.ts";
export { type GenerationConfig, readGenerationConfig } from "./config/generation.ts";
export type {
  Activation,
  Family,
  Head,
  Llama3Rope,
  ModelConfig,
  RopeConfig,
  YarnRope,
} from "./config/model-config.ts";
export { parameterCount as configParameterCount, parameterShapes } from "./config/parameters.ts";
export { parseModelConfig, readModelConfig } from "./config/parse.ts";
export {
  type PresetName,
  type PresetOptions,
  presetConfig,
  presets,
  valueModelConfig,
} from "./config/presets.ts";
export { toConfigJson } from "./config/write.ts";
export * from "./decoder/index.ts";
export {
  describeModel,
  estimateMemory,
  type MemoryEstimate,
  type ModelDescription,
  type TokenizerDescription,
} from "./describe.ts";
export { type Fingerprints, fingerprintsOf } from "./fingerprint.ts";
export { loadModel, type SaveModelOptions, saveModel } from "./folder.ts";
export {
  EXPORT_TYPES,
  type ExportOptions,
  type ExportReport,
  type ExportType,
  exportGguf,
} from "./gguf/export.ts";
export { type ImportOptions, importGguf } from "./gguf/import.ts";
export * from "./hub/index.ts";
export { type InitOptions, initModelFolder } from "./init.ts";
export { loadLora, type SaveLoraOptions, saveLora } from "./lora/files.ts";
export { addLora, type LoraModel } from "./lora/lora.ts";
export {
  LORA_TARGETS,
  type LoraOptions,
  type LoraSettings,
  type LoraTarget,
} from "./lora/options.ts";
export { type Checkpoint, openCheckpoint, type TensorInfo } from "./safetensors/checkpoint.ts";
export { type LoadOptions, openSafetensors, type SafetensorsFile } from "./safetensors/file.ts";
export type { TensorEntry } from "./safetensors/header.ts";
export { type ShardOptions, writeCheckpoint } from "./safetensors/shards.ts";
export { type LaterTensor, type WriteOptions, writeSafetensors } from "./safetensors/writer.ts";
export * from "./sharding/index.ts";
export { byteChat } from "./tokenizer/bytes.ts";
export { Chat, type ChatOptions, type Continuation } from "./tokenizer/chat/chat.ts";
export {
  type ChatMessage,
  type ChatTemplate,
  compileTemplate,
  loadChatTemplate,
  type RenderOptions,
  type Role,
} from "./tokenizer/chat/template.ts";
export { Conversation, type Segment } from "./tokenizer/chat/conversation.ts";
export { loadTokenizer, type TokenizerFiles } from "./tokenizer/files.ts";
export { loadChat } from "./tokenizer/chat/load.ts";
export { CHAT_TEMPLATE } from "./tokenizer/chat/own-template.ts";
export type { TextStream } from "./tokenizer/stream.ts";
export {
  type DecodeOptions,
  type EncodeOptions,
  type NamedTokens,
  Tokenizer,
} from "./tokenizer/tokenizer.ts";
export {
  type TokenizerFileOptions,
  type TrainedTokenizer,
  type TrainingOptions,
  trainTokenizer,
  writeTokenizer,
} from "./tokenizer/train.ts";
export { NUMBERS, type Numbers } from "./tokenizer/words.ts";
export { type ValueModelOptions, valueModelFrom } from "./value-model.ts";
