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
  createServerGenerator,
  type ServerGenerator,
  type ServerOptions,
} from "./server/client.ts";
export { ServerError } from "./server/errors.ts";
export { stream, type TokenStream } from "./stream.ts";
