/**
 * @file What is learned from an episode, and from which: advantages, passes, curricula, replay; from the settings algorithm
 * and data.
 */
import {
  logprobTolerance,
  MOST_TOKENS_OF_PASS,
  stagesProblem,
  type TrainingOptions,
} from "../../training/index.ts";
import { discount } from "../combinations.ts";
import { ConfigError } from "../override.ts";
import type { FoundParts } from "../own-parts.ts";
import type { Config } from "../schema.ts";
import { servedOptions } from "../engines/served.ts";

export function advantageSettings(
  config: Config,
  { estimator }: FoundParts,
): TrainingOptions["advantages"] {
  const { algorithm } = config;
  const { actor } = config.actor_rollout_ref;
  const { gigpo, hgpo, kl_ctrl: kl, reward_allocation: mode, pf_ppo } = algorithm;
  const gamma = discount(config);
  return {
    name: algorithm.adv_estimator,
    estimator,
    options: {
      gamma,
      lambda: algorithm.lam,
      divideByDeviation: algorithm.norm_adv_by_std_in_grpo,
      epsilon: algorithm.epsilon,
      mode: gigpo.mode,
      episodeStatistics: gigpo.episode_stats,
      stepAdvantageWeight: gigpo.step_advantage_w,
      similarity: gigpo.enable_similarity ? gigpo.similarity_thresh : undefined,
      historyLength: hgpo.history_length,
      lengthWeightAlpha: hgpo.length_weight_alpha,
      baseGroup: hgpo.base_group,
    },
    gamma,
    allocation: { mode, gamma: mode.startsWith("discounted") ? (algorithm.gamma ?? 1) : 1 },
    klInReward: algorithm.use_kl_in_reward
      ? {
          estimator: algorithm.kl_penalty,
          type: kl.type,
          coefficient: kl.kl_coef,
          target: kl.target_kl,
          horizon: kl.horizon,
        }
      : undefined,
    whitenRewards: algorithm.whiten_rewards,
    invalidActionPenalty: actor.use_invalid_action_penalty
      ? actor.invalid_action_penalty_coef
      : undefined,
    anchors: gigpo.anchors,
    resampling: algorithm.use_pf_ppo
      ? { method: pf_ppo.reweight_method, power: pf_ppo.weight_pow }
      : undefined,
  };
}

export function passOptions(config: Config) {
  const { algorithm, trainer, actor_rollout_ref: policy } = config;
  const { actor, model, rollout } = policy;
  const { rollout_correction: correction } = algorithm;
  const { param_dtype: fetched } = actor.fsdp_config.mixed_precision;
  const dtype = fetched?.startsWith("b") ? "bfloat16" : model.dtype;
  const precision = actor.autocast === "none" ? dtype : actor.autocast;
  return {
    temperature: rollout.temperature,
    tokensPerPass:
      rollout.log_prob_max_token_len_per_gpu ??
      actor.ppo_max_token_len_per_gpu ??
      MOST_TOKENS_OF_PASS,
    sharePrefixes: actor.use_prefix_grouper,
    autocast: actor.autocast,
    // Of weights that are older, they differ as they differ.
    logprobTolerance: rollout.one_step_off
      ? Number.POSITIVE_INFINITY
      : logprobTolerance(
          trainer.logprob_tolerance,
          precision,
          rollout.quantization ?? servedOptions(config)?.vllm.dtype ?? precision,
        ),
    importance:
      correction.rollout_is === "none" || correction.rollout_is === null
        ? undefined
        : { level: correction.rollout_is, threshold: correction.rollout_is_threshold },
    rejection:
      correction.rollout_rs === null
        ? undefined
        : { options: correction.rollout_rs, thresholds: correction.rollout_rs_threshold ?? 2 },
    trustRecorded: correction.bypass_mode,
  };
}

export function curriculumOptions({
  by,
  ...how
}: Config["data"]["curriculum"]): TrainingOptions["rollout"]["curriculum"] {
  if (by === "none") return undefined;
  const problem = by === "horizon" && stagesProblem(how.stages);
  if (problem) throw new ConfigError(`data.curriculum.stages: ${problem}`);
  return { by, ...how };
}

export function replayOptions(replay: Config["algorithm"]["replay"]): TrainingOptions["replay"] {
  if (!replay.enable) return undefined;
  const { capacity, share, rescue, priority, correction, threshold } = replay;
  return {
    ...{ capacity, share, rescue, priority, correction, threshold },
    perTask: replay.per_task,
    minimumScore: replay.min_score,
    maximumAge: replay.max_age,
    halfLife: replay.half_life ?? undefined,
  };
}
