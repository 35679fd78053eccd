/**
 * @file The door of the environments room: the interface, the registry, and how to define a world.
 */

export { type AgentGymServer, type ServeOptions, serveWorld } from "./agentgym/index.ts";
export { ArchiveError } from "./archive/error.ts";
export { type ZipEntry, ZipFile } from "./archive/zip.ts";
export { type HandPlayed, type HandPlayedEnd, playByHand, taskNamed } from "./by-hand.ts";
export { DATASETS, type Dataset, type GetOptions } from "./data/datasets.ts";
export { ParquetError, parquetRows } from "./data/parquet.ts";
export { isSum } from "./data/sums.ts";
export {
  defineEnvironment,
  defineWorld,
  type EnvironmentParts,
  type WorldDefinition,
} from "./define.ts";
export {
  type AgentProgram,
  type DistantExpert,
  type Environment,
  EnvironmentError,
  type Expert,
  expertsOf,
  type Json,
  type LocalEnvironment,
  type Observation,
  type ProgramCall,
  type ProgramQuestion,
  type ProgramReply,
  type ProgramResult,
  type StepResult,
  type Task,
  type TaskSet,
  type ToolDefinition,
  type World,
} from "./environment.ts";
export { type MixedPart, mixWorlds } from "./mixed.ts";
export { boundedEnvironment } from "./foreign/bounded-world.ts";
export {
  checkedObservation,
  checkedResult,
  LARGEST_REWARD,
  OBSERVATION_CHARACTERS,
} from "./foreign/checked.ts";
export { messageOf } from "./foreign/message.ts";
export {
  type FaultOwner,
  holdStrayFaults,
  onBehalfOf,
  warnOfFault,
} from "./foreign/stray-faults.ts";
export { pendingWaits, type TimeLimit, TimeLimitError, within } from "./foreign/within.ts";
export type { Answer, TaskSketch, WorldParts } from "./functions/parts.ts";
export { type IsolateOptions, variablesFor } from "./isolated/options.ts";
export {
  type IsolatedWorld,
  type OpenIsolatedOptions,
  openIsolatedWorld,
} from "./isolated/world.ts";
export { type OpenEnvServer, serveOpenEnv } from "./openenv/index.ts";
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
export { type PlacedWorld, type PlaceOptions, placeWorld } from "./place.ts";
export { type Random, seededRandom } from "./random.ts";
export { findWorld, openWorld, registerWorld, worldDefinitions } from "./registry.ts";
export { requireSplit, type TaskSetParts, taskList, taskSet } from "./tasks.ts";
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
