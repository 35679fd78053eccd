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
export { type Collection, type CollectOptions, collect, type EpisodeGroup } from "./collect.ts";
export { type EpisodeOptions, runEpisode, type WorldFacts } from "./episode.ts";
export type { EpisodeLimits } from "./limits.ts";
export { type ChatPolicyOptions, chatPolicy } from "./policies/chat.ts";
export { type CorrectedPolicyOptions, correctedPolicy } from "./policies/corrected.ts";
export { type ModelPolicyOptions, modelPolicy } from "./policies/model.ts";
export type { Policy, ReplyRequest, ReplySource } from "./policies/policy.ts";
export {
  type ExpertWords,
  minimalWords,
  type ScriptedPolicyOptions,
  scriptedPolicy,
} from "./policies/scripted.ts";
export {
  type DocumentMessage,
  toChats,
  toDocumentMessages,
  writeParquet,
} from "./store/export.ts";
export type { StoredEpisode } from "./store/index-file.ts";
export { fromLine, TrajectoryLineError, toLine } from "./store/line.ts";
export {
  openTrajectoryStore,
  readTrajectories,
  type StoreOptions,
  type TrajectoryStore,
} from "./store/store.ts";
export {
  type EpisodeStatus,
  isTrainable,
  isWellFormed,
  type SampledReply,
  sampledTokens,
  TRAINABLE,
  type Trajectory,
  type Turn,
} from "./trajectory.ts";
