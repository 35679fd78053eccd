/**
 * @file The entry of the package: train an agent with one call, and make worlds, rewards, formats and
 * whatever else of one's own.
 *
 *   import { defineEnvironment, train } from "openmanus-rl";
 *
 * Everything behind it is in rooms of their own: "openmanus-rl/torch", "openmanus-rl/models", and so on.
 */
export {
  type Agent,
  type AgentContext,
  type AgentOptions,
  createAgent,
  defineFormat,
  type Field,
  type FormatSketch,
  type History,
  type HistoryOptions,
  type MakeHistory,
  type MemoryOptions,
  type PastStep,
  type Present,
  type PromptParts,
  type Prompts,
  type ReplyFormat,
  type SummaryOptions,
  type WindowOptions,
} from "../agents/index.ts";
export {
  type AdvantageBatch,
  type AdvantageEstimator,
  type AdvantageEstimatorName,
  type AdvantageOptions,
  type Advantages,
  advantageEstimators,
  type PolicyLossKind,
  type PolicyLossName,
  type PolicyLossOptions,
  type PolicyTerms,
  policyLosses,
  type TokenLosses,
} from "../algorithms/index.ts";
export { OptionError, type PlayOptions, type WorldOptions } from "../assembly/index.ts";
export type {
  AgentChoices,
  AlgorithmChoices,
  AlgorithmName,
  CurriculumChoices,
  DeepPartial,
  DifficultyCurriculum,
  HorizonCurriculum,
  KindCurriculum,
  OptimizerChoices,
  PlayChoices,
  ReplayChoices,
  SearchChoices,
  Settings,
  SuccessCurriculum,
  TrainingChoices,
  ValidationChoices,
} from "../config/index.ts";
export { ConfigError } from "../config/index.ts";
export {
  type Diagnosis,
  diagnose,
  diagnosisText,
  type EpisodeExcerpt,
  type Finding,
} from "../dashboard/index.ts";
export {
  type Answer,
  callTool,
  defineEnvironment,
  defineWorld,
  type Environment,
  EnvironmentError,
  type Expert,
  type Observation,
  openWorld,
  type Random,
  type StepResult,
  seededRandom,
  type Task,
  type Tool,
  type ToolDefinition,
  toolMakers,
  type World,
  type WorldDefinition,
} from "../environments/index.ts";
export {
  ALARMS,
  type Alarm,
  type AlarmEvent,
  type AlarmName,
  comparePaired,
  type PairedComparison,
  type SuccessRow,
  type SuccessTable,
  successReport,
  successTable,
} from "../evaluation/index.ts";
export { FolderError } from "../folders/index.ts";
export {
  type AgentProgramOptions,
  agentProgram,
  type JudgedEpisode,
  type ModelAccess,
  type ProgramAnswer,
  type ProgramTask,
  type ToolCall,
} from "../gateway/index.ts";
export type { ChatMessage } from "../models/index.ts";
export {
  type FetchedModel,
  type FetchOptions,
  fetchModel,
  HubError,
  type HubFailure,
  type HubLimits,
  type HubVariables,
  type PushedModel,
} from "../models/index.ts";
export type { Metrics, MetricsLogger } from "../monitoring/index.ts";
export {
  consistency,
  environment,
  exploration,
  format,
  goal,
  invalidActions,
  judge,
  klPenalty,
  lengthPenalty,
  overlong,
  type RewardComponent,
  type RewardInput,
  type RewardValue,
  type RewardModelKind,
  repetition,
  rewardFunction,
  rewardModel,
  score,
  timePenalty,
} from "../rewards/index.ts";
export {
  openTrajectoryStore,
  readTrajectories,
  type Trajectory,
  type Turn,
} from "../rollout/index.ts";
export type { Health, Learner, Ranks, RunState, Stop, Validation } from "../training/index.ts";
export { modelCard, type RunPolicy } from "./hub/card.ts";
export { type ChatOptions, chat } from "./serving/chat.ts";
export { checkDevice, type DeviceCheckOptions, type DeviceReport } from "./devices/check.ts";
export type { DeviceFinding, Outcome } from "./devices/finding.ts";
export { type DpoOptions, dpo } from "./preferences/dpo.ts";
export {
  type ComparedEvaluation,
  type EvaluateOptions,
  type Evaluation,
  type EvaluationOf,
  evaluate,
  evaluateWith,
  policyIn,
} from "./evaluate.ts";
export {
  type FetchedPublished,
  fetchPublished,
  PUBLISHED_MODELS,
  type PublishedModel,
} from "./fetch/fetch.ts";
export type { ModelSource, SourceOptions } from "./fetch/source.ts";
export { fetchedModel, fetchShown } from "./hub/hub.ts";
export { makeModel } from "./model.ts";
export type { NewModel, ProgressChoices, TrainCall, TrainOptions, WarmStart } from "./options.ts";
export type {
  LearningChoices,
  PreferenceOptions,
  PreferenceReport,
} from "./preferences/preferences.ts";
export { type Audience, audienceOf, InterruptedError } from "./progress.ts";
export { type PushCall, push } from "./hub/push.ts";
export { isFirstRank, tellingRanks, withRanks } from "./ranks.ts";
export { type RewardModelOptions, trainRewardModel } from "./preferences/reward-model.ts";
export type { Run, RunEvaluateOptions } from "./run.ts";
export {
  type ServedModel,
  type ServedModelOptions,
  type ServeOptions,
  serve,
} from "./serving/serve.ts";
export { type SftOptions, type SftReport, sft } from "./sft.ts";
export { openTalk, type Talk, type TalkListener, type TalkOptions } from "./serving/talk.ts";
export { type Plan, planOf, train, warmStart } from "./train.ts";
