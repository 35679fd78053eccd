/**
 * @file The door of the rollout room: episodes, groups, trajectories and their store, batches.
 */
export { accountOf, mergeAccounts, type RolloutAccount } from "./account.ts";
export {
  type AnchorRule,
  anchorsOf,
  type Batch,
  type BatchOptions,
  isValidTurn,
  packTrajectories,
  type SpanTable,
  type ValidityRule,
} from "./batch.ts";
export { BatchError, checkBatch, checkLogprobs, type LogprobCheck } from "./check.ts";
export {
  type BegunEpisode,
  type Collection,
  type CollectOptions,
  collect,
  type EpisodeGroup,
} from "./collect.ts";
export { isFarTooLong } from "./dialogue.ts";
export { type EpisodeOptions, runEpisode } from "./episode.ts";
export { FAULT_KINDS, type FaultCounts, type FaultKind } from "./faults/kinds.ts";
export type { EpisodeLimits } from "./limits.ts";
export type { Line, WorldFacts } from "./line.ts";
export { type ChatPolicyOptions, chatPolicy } from "./policies/chat.ts";
export { type CorrectedPolicyOptions, correctedPolicy } from "./policies/corrected.ts";
export { type ModelPolicyOptions, modelPolicy } from "./policies/model.ts";
export type {
  Policy,
  PolicySession,
  ReplyRequest,
  ReplySource,
  SessionRequest,
  SessionReward,
} from "./policies/policy.ts";
export {
  type ExpertWords,
  expertReply,
  minimalWords,
  type ScriptedPolicyOptions,
  scriptedPolicy,
} from "./policies/scripted.ts";
export type { BudgetOptions } from "./search/budget.ts";
export type { Findings, StateValue, StepPreference } from "./search/findings.ts";
export { clamped, type Judge, type Judgement, UNDECIDED } from "./search/judge.ts";
export { strategyNames } from "./search/registry.ts";
export {
  type JudgeName,
  SEARCH_DEFAULTS,
  type SearchOptions,
  searchProblem,
} from "./search/search.ts";
export type { StrategySettings } from "./search/strategies/strategy.ts";
export {
  type DocumentMessage,
  toChats,
  toDocumentMessages,
  writeParquet,
} from "./store/export.ts";
export { readTextLines } from "./store/files.ts";
export {
  appendFindings,
  FINDINGS_FILE,
  type FoundTurn,
  findingsFileIn,
  readFindings,
  type SearchFindings,
} from "./store/findings.ts";
export type { StoredEpisode } from "./store/index-file.ts";
export { fromLine, TrajectoryLineError, toLine } from "./store/line.ts";
export {
  episodeFiles,
  openTrajectoryStore,
  readEpisodeIndex,
  readStoredEpisode,
  readTrajectories,
  type StoreOptions,
  type TrajectoryStore,
} from "./store/store.ts";
export {
  beginsRow,
  type EpisodeStatus,
  isTrainable,
  isWellFormed,
  rowsOf,
  type SampledReply,
  type SearchAccount,
  sampledTokens,
  TRAINABLE,
  type Trajectory,
  type Turn,
} from "./trajectory.ts";
export type { EpisodeWatch } from "./watch.ts";
