/**
 * @file The door of the training room: the trainer, its workers, SFT, checkpoints.
 */
export { checkpointFolder, checkpointSteps, type RunState } from "./checkpoint/checkpoint.ts";
export { CheckpointError } from "./checkpoint/files.ts";
export { type FitOptions, type FitResult, fit, type Hooks } from "./loop/fit.ts";
export type { Learner, Stop } from "./loop/guards.ts";
export { type TaskOrder, taskOrder } from "./loop/task-order.ts";
export { type Validation, validate } from "./loop/validate.ts";
export {
  type ActorOptions,
  type AdvantageSettings,
  type BatchingOptions,
  type CheckpointOptions,
  type CriticOptions,
  type GroupFilter,
  type GuardOptions,
  type KlInRewardOptions,
  type LoraSettings,
  type LossWeighing,
  type ModelOptions,
  needsReference,
  type Offload,
  type OptimizerOptions,
  type PassOptions,
  type RolloutOptions,
  type RunOptions,
  type TrainingOptions,
  type ValidationOptions,
} from "./options.ts";
export { joinRanks, type Ranks } from "./ranks/ranks.ts";
export { lockRunFolder, type RunDescription, readRunDescription } from "./run/folder.ts";
export type { HeldLock } from "./run/lock.ts";
export { writeRunReport } from "./run/report.ts";
export { bestPolicy, type PolicyOfRun, type RunResults, runResults } from "./run/results.ts";
export {
  type Example,
  exampleOfChat,
  examplesOf,
  examplesOfEverything,
  readExamples,
} from "./sft/examples.ts";
export { type ExpertOptions, expertEpisodes, worldTexts } from "./sft/experts.ts";
export {
  fineTune,
  meanLoss,
  type SftOptions,
  type SftProgress,
  type SftResult,
} from "./sft/sft.ts";
export { type OpenLogger, type RunTraining, runTraining, type TrainingResult } from "./train.ts";
export type { LossScale } from "./workers/loss-scale.ts";
export type {
  LossOfPass,
  SkippedUpdate,
  TrainedModel,
  UpdateOptions,
  UpdateResult,
} from "./workers/optimize.ts";
export { logprobTolerance } from "./workers/passes.ts";
export {
  createWorkers,
  type PolicyModel,
  type ResumeFolders,
  type RolloutWorker,
  type Workers,
} from "./workers/workers.ts";
