/**
 * @file The door of the generation room.
 */
export { createEngine, type Engine, type EngineOptions, type EngineStatistics } from "./engine.ts";
export type {
  Completion,
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
export { stream, type TokenStream } from "./stream.ts";
