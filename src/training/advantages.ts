/**
 * @file From composed rewards to advantages: allocation to tokens, the invalid-action penalty, KL in the
 * reward, and the estimator of the configuration.
 *
 * Estimators that compare over the whole batch (whitening) see the batches of all processes together.
 */
import {
  type AdvantageBatch,
  advantageEstimators,
  batchMetrics,
  groupMetrics,
  type KlController,
  klInReward,
  type Metrics,
  penalizeInvalidActions,
  stepReturns,
  summary,
  updateKlController,
  whitenRewards,
} from "../algorithms/index.ts";
import { type Config, discount } from "../config/index.ts";
import { allocateRewards, type ComposedReward, stepRewards } from "../rewards/index.ts";
import type { Batch } from "../rollout/index.ts";
import { joinedBatches } from "./joined.ts";
import type { Ranks } from "./ranks.ts";

export interface AdvantageInputs {
  /** Of the batch's trajectories, in their order. */
  readonly rewards: readonly ComposedReward[];
  /** [tokens] From the critic. */
  readonly values?: Float64Array | undefined;
  /** [tokens] */
  readonly oldLogprobs?: Float64Array | undefined;
  /** [tokens] */
  readonly referenceLogprobs?: Float64Array | undefined;
  /** [tokens] */
  readonly squaredProbabilities?: Float64Array | undefined;
  /** [rows] Scores of greedy episodes of the same tasks. */
  readonly baselines?: Float64Array | undefined;
}

export interface EstimatedAdvantages {
  /** [tokens] */
  readonly advantages: Float64Array;
  /** [tokens] */
  readonly returns: Float64Array;
  /** After this batch. */
  readonly klController: KlController;
  readonly metrics: Metrics;
}

export function estimateAdvantages(
  batch: Batch,
  inputs: AdvantageInputs,
  config: Config,
  klController: KlController,
  ranks: Ranks,
): EstimatedAdvantages {
  const { algorithm, actor_rollout_ref: policy } = config;
  const { rows, segments, trajectories, trajectoryOf } = batch;
  const gamma = discount(config);
  const metrics: Metrics = {};

  // What the episode earned, on its tokens.
  const scores = allocateRewards(batch, inputs.rewards, {
    mode: algorithm.reward_allocation,
    gamma: algorithm.reward_allocation.startsWith("discounted") ? (algorithm.gamma ?? 1) : 1,
  });
  let rewards: Float64Array = scores;
  let controller = klController;
  if (algorithm.use_kl_in_reward) {
    const kl = klInReward(
      {
        rows,
        scores,
        oldLogprobs: inputs.oldLogprobs!,
        referenceLogprobs: inputs.referenceLogprobs!,
      },
      controller.coefficient,
      algorithm.kl_penalty,
    );
    rewards = kl.rewards;
    Object.assign(metrics, kl.metrics);
    const parts = ranks.gather({ kl: kl.kl, rows: rows.offsets.length - 1 });
    const total = parts.reduce((sum, part) => sum + part.rows, 0);
    const mean = parts.reduce((sum, part) => sum + part.kl * part.rows, 0) / Math.max(1, total);
    controller = updateKlController(controller, mean, total);
  }

  // What each step earned from there on, and what its invalid action costs.
  let returns = stepReturns(
    {
      rewards: stepRewards(batch, inputs.rewards),
      trajectories: segments.trajectory,
      order: segments.turn,
    },
    gamma,
  );
  let stepScores: Float64Array | undefined;
  if (policy.actor.use_invalid_action_penalty) {
    const penalized = penalizeInvalidActions(
      { rows, spans: segments, rewards, stepReturns: returns, valid: segments.valid },
      policy.actor.invalid_action_penalty_coef,
    );
    ({ rewards, stepReturns: returns, scores: stepScores } = penalized);
    metrics["episode/valid_action_ratio"] = penalized.validRatio;
  }

  const own: AdvantageBatch = {
    rows,
    rewards,
    values: inputs.values,
    groups: Array.from(trajectoryOf, (i) => trajectories[i]!.group),
    trajectories: Array.from(trajectoryOf, (i) => trajectories[i]!.id),
    order: batch.order,
    baselines: inputs.baselines,
    oldLogprobs: inputs.oldLogprobs,
    squaredProbabilities: inputs.squaredProbabilities,
    steps: {
      spans: segments,
      anchors: segments.anchors,
      returns,
      order: segments.turn,
      scores: stepScores,
    },
  };
  const { whole: joined, mine } = joinedBatches(own, ranks);
  const whitened = algorithm.whiten_rewards && whitenRewards(joined.rows, joined.rewards);
  const whole = whitened ? { ...joined, rewards: whitened } : joined;
  const estimated = advantageEstimators[algorithm.adv_estimator].estimate(whole, {
    gamma,
    lambda: algorithm.lam,
    divideByDeviation: algorithm.norm_adv_by_std_in_grpo,
    epsilon: algorithm.epsilon,
    mode: algorithm.gigpo.mode,
    episodeStatistics: algorithm.gigpo.episode_stats,
    stepAdvantageWeight: algorithm.gigpo.step_advantage_w,
    similarity: algorithm.gigpo.enable_similarity ? algorithm.gigpo.similarity_thresh : undefined,
    historyLength: algorithm.hgpo.history_length,
    lengthWeightAlpha: algorithm.hgpo.length_weight_alpha,
    baseGroup: algorithm.hgpo.base_group,
  });
  const advantages = mine(estimated.advantages);
  const targets = mine(estimated.returns);
  Object.assign(
    metrics,
    batchMetrics({
      rows,
      scores,
      rewards: whitened ? mine(whitened) : rewards,
      advantages,
      returns: targets,
      values: inputs.values,
    }),
    groupMetrics(
      Float64Array.from(inputs.rewards, ({ total }) => total),
      trajectories.map(({ group }) => group),
    ),
    summary(
      "episode/length",
      trajectories.map(({ turns }) => turns.length),
    ),
  );
  return { advantages, returns: targets, klController: controller, metrics };
}
