/**
 * @file The door of the algorithms room: advantages, losses, and what stands around them. Pure
 * functions: no I/O, no globals, no hidden randomness. See docs/algorithms.md.
 */

export type { AdvantageBatch, AdvantageOptions } from "./advantages/batch.ts";
export { type GaeInput, type GaeOptions, gae } from "./advantages/gae.ts";
export { type GigpoInput, type GigpoOptions, gigpo, type Steps } from "./advantages/gigpo.ts";
export { type GpgOptions, gpg } from "./advantages/gpg.ts";
export { type GrpoOptions, grpo } from "./advantages/grpo.ts";
export { grpoPassAtK } from "./advantages/grpo-passk.ts";
export { type HgpoOptions, hgpo } from "./advantages/hgpo.ts";
export { opo } from "./advantages/opo.ts";
export {
  type OptimalTokenBaselineInput,
  type OptimalTokenBaselineOptions,
  optimalTokenBaseline,
} from "./advantages/optimal-token-baseline.ts";
export type { OutcomeInput, OutcomeOptions } from "./advantages/outcome.ts";
export * from "./advantages/registry.ts";
export {
  type ReinforceInput,
  type ReinforceOptions,
  reinforcePlusPlus,
} from "./advantages/reinforce-plus-plus.ts";
export { reinforcePlusPlusBaseline } from "./advantages/reinforce-plus-plus-baseline.ts";
export { type RemaxInput, remax } from "./advantages/remax.ts";
export { rloo } from "./advantages/rloo.ts";
export * from "./diagnostics/batch.ts";
export * from "./diagnostics/groups.ts";
export * from "./diagnostics/reduce.ts";
export * from "./diagnostics/variance-proxy.ts";
export type { Singleton } from "./groups.ts";
export * from "./losses/actor.ts";
export * from "./losses/aggregation.ts";
export * from "./losses/distribution.ts";
export * from "./losses/dpo.ts";
export * from "./losses/kl.ts";
export { maskedInput, type TokenValues } from "./losses/packed.ts";
export { answerLogprobs } from "./losses/pairs.ts";
export {
  computePolicyLoss,
  type LossAndMetrics,
  type PolicyLossInput,
  type PolicyLossKind,
  type PolicyLossOptions,
  type PolicyTerms,
  type TokenLosses,
} from "./losses/policy/policy.ts";
export * from "./losses/policy/registry.ts";
export * from "./losses/reward-model.ts";
export * from "./losses/value.ts";
export type { MismatchInput, MismatchOptions } from "./mismatch/input.ts";
export * from "./mismatch/metrics.ts";
export { type Rejection, rejectMismatch } from "./mismatch/rejection.ts";
export { REJECTION_OPTIONS } from "./mismatch/rejection-options.ts";
export {
  type ImportanceWeightOptions,
  type ImportanceWeights,
  importanceWeights,
} from "./mismatch/weights.ts";
export * from "./rewards/dynamic-sampling.ts";
export * from "./rewards/invalid-action.ts";
export * from "./rewards/kl-in-reward.ts";
export * from "./rewards/overlong.ts";
export * from "./rewards/resample.ts";
export * from "./rows.ts";
export { type Moments, moments, type WhitenOptions, whiten, whitenRewards } from "./statistics.ts";
export {
  equalSteps,
  type SimilarStepsInput,
  type StepGroups,
  similarSteps,
} from "./steps/groups.ts";
export { type StepReturnsInput, stepReturns } from "./steps/returns.ts";
export { type TextMatcher, textMatcher } from "./steps/similarity.ts";
export * from "./steps/table.ts";
