/**
 * @file The door of the training room: the trainer, its workers, SFT, checkpoints.
 */

export type { OwnedFolder } from "../folders/index.ts";
export { checkpointFolder, checkpointSteps, type RunState } from "./checkpoint/checkpoint.ts";
export { CheckpointError } from "./checkpoint/files.ts";
export type { OptimizerMemory } from "./checkpoint/moments.ts";
export {
  bestIn,
  metricsIn,
  openWork,
  requireNewModel,
  resumeFrom,
  type Work,
  type WorkCheckpoints,
  type WorkIdentity,
  type WorkPosition,
  type WorkStart,
  weightsIn,
} from "./checkpoint/work.ts";
export {
  type Curriculum,
  type CurriculumState,
  type IterationPlan,
  openCurriculum,
} from "./curriculum/curriculum.ts";
export { stagesProblem } from "./curriculum/horizon.ts";
export type { GroupOutcome, TaskRecords } from "./curriculum/records.ts";
export type { AheadEpisodes } from "./loop/ahead.ts";
export type { Response } from "./loop/alarms.ts";
export type { IterationEpisodes } from "./loop/collect.ts";
export { type FitOptions, type FitResult, fit, type Hooks } from "./loop/fit.ts";
export type { Learner, Stop } from "./loop/guards.ts";
export type { Health } from "./loop/health.ts";
export { type TaskOrder, type TaskPlaces, taskOrder } from "./loop/task-order.ts";
export { type Validation, validate } from "./loop/validate.ts";
export {
  type ActorOptions,
  type AdvantageSettings,
  type AlarmSettings,
  type BatchingOptions,
  type CheckpointOptions,
  type CriticOptions,
  type CurriculumOptions,
  type DifficultyCurriculum,
  type GroupFilter,
  type GuardOptions,
  type HorizonCurriculum,
  type KindCurriculum,
  type KlInRewardOptions,
  type LoraSettings,
  type LossWeighing,
  type ModelOptions,
  needsReference,
  type Offload,
  type OptimizerOptions,
  type PassOptions,
  type PassSize,
  type ReplayOptions,
  type RolloutOptions,
  type RunOptions,
  type SettingChange,
  type ShardingOptions,
  type SuccessRateCurriculum,
  type TrainingOptions,
  type ValidationOptions,
} from "./options.ts";
export {
  type DpoSettings,
  dpoObjective,
  type ReferencedPair,
  withReference,
} from "./preferences/dpo.ts";
export { pairsOfEpisodes } from "./preferences/groups.ts";
export { type Holdout, splitByTask } from "./preferences/held-out.ts";
export {
  type LearnOptions,
  type LearnPosition,
  type LearnProgress,
  type LearnResult,
  learn,
  type Objective,
} from "./preferences/learn.ts";
export {
  learnModel,
  type ModelLearned,
  type ModelLearning,
  type Prepared,
} from "./preferences/model.ts";
export {
  fingerprintOfPairs,
  type Pair,
  pairOf,
  rowsOfPair,
  type Said,
  type SaidTurn,
} from "./preferences/pairs.ts";
export { type PassChoices, requireLength } from "./preferences/passes.ts";
export { pairOfRow } from "./preferences/preferences-file.ts";
export {
  type PairOptions,
  type PairSource,
  pairsIn,
  pairsOfFindings,
  type Sources,
  sourcesIn,
  sourcesOf,
} from "./preferences/read.ts";
export {
  fingerprintOfScored,
  type LabelledItem,
  labelledObjective,
  outcomesOf,
  outcomesOfPairs,
  preferenceObjective,
  type ScoredPair,
  scoredPair,
  stepsOf,
  valuesOfFindings,
} from "./preferences/reward-model.ts";
export { fingerprintOfTasks, requireSameOnRanks } from "./ranks/agree.ts";
export { type DealtRows, inOrder, ownShare } from "./ranks/deal.ts";
export { joinRanks, oneRank, type Ranks } from "./ranks/ranks.ts";
export { type FolderOfFirst, folderOfFirst } from "./ranks/send.ts";
export type { ReplayBuffer, StoredEpisode } from "./replay/buffer.ts";
export {
  type HeldFolder,
  holdRunFolder,
  type RunDescription,
  readRunDescription,
} from "./run/folder.ts";
export {
  bestPolicy,
  type PolicyOfRun,
  policyAfter,
  type RunResults,
  runResults,
  savedPolicies,
} from "./run/results.ts";
export { type PlayersOptions, playersOptions } from "./served/players.ts";
export { probeTolerance } from "./served/probe.ts";
export type { ServedOptions } from "./served/rollout.ts";
export {
  type Example,
  exampleOfChat,
  examplesOf,
  examplesOfEverything,
  readExamples,
} from "./sft/examples.ts";
export { KEPT_EPISODES, type KeptEpisodes, keptEpisodes } from "./sft/kept.ts";
export { type ExpertOptions, expertEpisodes, worldTexts } from "./sft/experts.ts";
export { fingerprintOfExamples, requireTokensOf } from "./sft/fingerprints.ts";
export {
  fineTune,
  meanLoss,
  type SftOptions,
  type SftPosition,
  type SftProgress,
  type SftResult,
} from "./sft/sft.ts";
export { type OpenLogger, type RunTraining, runTraining, type TrainingResult } from "./train.ts";
export type { LossScale } from "./workers/loss-scale.ts";
export type { TokenRow } from "./workers/tokens.ts";
export type {
  LossOfPass,
  SkippedUpdate,
  TrainedModel,
  UpdateOptions,
  UpdateResult,
} from "./workers/optimize.ts";
export { MOST_TOKENS as MOST_TOKENS_OF_PASS, passTokens } from "./workers/pass-tokens.ts";
export { logprobTolerance } from "./workers/passes.ts";
export type { Steps } from "./workers/steps.ts";
export {
  createWorkers,
  type GenerationFigures,
  type PolicyModel,
  type ResumeFolders,
  type RolloutWorker,
  type Workers,
} from "./workers/workers.ts";
