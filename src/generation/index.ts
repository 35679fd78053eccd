/**
 * @file The door of the generation room.
 */
export type { CachePlace, CacheStore } from "./cache/store.ts";
export { createEngine, type Engine, type EngineOptions, type EngineStatistics } from "./engine.ts";
export type { Layout } from "./layout.ts";
export type {
  Completion,
  Constraint,
  ConstraintCursor,
  FinishReason,
  GenerationRequest,
  SampledToken,
  SamplingOptions,
  TextGenerator,
} from "./request.ts";
export {
  type ChatAnswer,
  type ChatClient,
  type ChatClientOptions,
  type ChatRequest,
  createChatClient,
} from "./server/chat.ts";
export { createServerGenerator, type ServerGenerator } from "./server/client.ts";
export type { LogprobKind } from "./server/completion-builder.ts";
export { ServerError, type ServerErrorOptions } from "./server/errors.ts";
export type { ServerOptions } from "./server/settings.ts";
export { QUANTIZATIONS, type Quantization } from "./short-weights.ts";
export { stream, type TokenStream } from "./stream.ts";
export {
  type ModelParts,
  type PartModel,
  type TensorParallel,
  tensorParallel,
} from "./tensor-parallel.ts";
export { findVllm, VLLM_VARIABLE } from "./vllm/command.ts";
export {
  createVllmEngine,
  type ServedStatistics,
  type VllmEngine,
  type VllmEngineOptions,
} from "./vllm/engine.ts";
export type { OwnPlayer, VllmOptions } from "./vllm/options.ts";
export { type Probe, type ServedWeights, WeightsError } from "./vllm/probe.ts";
