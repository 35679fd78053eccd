/**
 * @file The door of the environments room: the interface, the registry, and how to define a world.
 */

export { type AgentGymServer, type ServeOptions, serveWorld } from "./agentgym/index.ts";
export { DATASETS, type Dataset, type GetOptions } from "./data/datasets.ts";
export {
  defineEnvironment,
  defineWorld,
  type EnvironmentParts,
  type WorldDefinition,
} from "./define.ts";
export {
  type Environment,
  EnvironmentError,
  type Expert,
  type Json,
  type LocalEnvironment,
  type Observation,
  type StepResult,
  type Task,
  type TaskSet,
  type ToolDefinition,
  type World,
} from "./environment.ts";
export type { Answer, TaskSketch, WorldParts } from "./functions/parts.ts";
export {
  type BooleanOption,
  checkOptions,
  type ListOption,
  type NumberOption,
  type Option,
  type OptionTable,
  type OptionValue,
  type OptionValues,
  type TextOption,
} from "./options.ts";
export { type Random, seededRandom } from "./random.ts";
export { findWorld, openWorld, registerWorld, worldDefinitions } from "./registry.ts";
export { type TaskSetParts, taskList, taskSet } from "./tasks.ts";
export {
  type CodeLimits,
  type CodeResult,
  callTool,
  type Tool,
  type ToolArguments,
  type ToolOutcome,
  toolMakers,
} from "./tools/index.ts";
export { importFile, isFileName } from "./user-file.ts";
