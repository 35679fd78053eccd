/**
 * @file The door of the rewards room: components, the composer, allocation to tokens.
 */
export {
  ALLOCATIONS,
  type Allocation,
  type AllocationOptions,
  allocateRewards,
  stepRewards,
} from "./allocation.ts";
export {
  type RewardComponent,
  type RewardInput,
  type RewardValue,
  rewardFunction,
} from "./component.ts";
export {
  consistency,
  exploration,
  format,
  invalidActions,
  klPenalty,
  type LengthPenaltyOptions,
  lengthPenalty,
  repetition,
  timePenalty,
} from "./components/conduct.ts";
export { type JudgeOptions, judge } from "./components/judge.ts";
export { environment, goal, score } from "./components/outcome.ts";
export { overlong } from "./components/overlong.ts";
export { probability, rewardModel } from "./components/reward-model.ts";
export {
  type ComposedGroup,
  type ComposedReward,
  composeGroup,
  type RewardComposer,
  RewardError,
  rewardComposer,
} from "./composer.ts";
export {
  REWARD_MODEL_FILE,
  REWARD_MODEL_KINDS,
  type RewardModelKind,
  rewardModelKind,
  rewardModelNote,
} from "./reward-model/note.ts";
export {
  type JudgedLine,
  lastScored,
  type ScoredRow,
  scoredRows,
  scoresOf,
} from "./reward-model/rows.ts";
export {
  requireScorer,
  type ScoredLine,
  type Scorer,
  type ScorerOptions,
  scorer,
} from "./reward-model/scorer.ts";
