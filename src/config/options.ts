/**
 * @file The border: from verl's tree of settings to the options that a run follows. Behind this file nobody
 * knows verl's names.
 */
import { resolve } from "node:path";
import { stringify } from "yaml";
import { askServer, type PlayOptions, type WorldOptions } from "../assembly/index.ts";
import {
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
  repetition,
  score,
  timePenalty,
} from "../rewards/index.ts";
import {
  type ActorOptions,
  type BatchingOptions,
  type CriticOptions,
  logprobTolerance,
  type OptimizerOptions,
  type TrainingOptions,
} from "../training/index.ts";
import {
  discount,
  groupSize,
  hasNoReward,
  missingGroups,
  totalIterations,
} from "./combinations.ts";
import { SETTINGS_FILE, settingsNote } from "./note.ts";
import { ConfigError } from "./override.ts";
import { type FoundParts, findParts, type OwnParts } from "./own-parts.ts";
import { identityOf, runFolder, withoutSecrets } from "./record.ts";
import type { Config } from "./schema.ts";

export type { OwnParts } from "./own-parts.ts";

export interface ResolvedRun {
  readonly options: TrainingOptions;
  readonly world: WorldOptions;
  readonly play: PlayOptions;
}

/** Everything that a configuration asks for, with things of one's own in their places. */
export async function runOptions(config: Config, own: OwnParts = {}): Promise<ResolvedRun> {
  const parts = await findParts(config, own);
  const world = worldOptions(config, own);
  const play = playOptions(config, parts);
  const { algorithm, data, trainer, actor_rollout_ref: policy } = config;
  const { model, rollout } = policy;
  const members = groupSize(config, parts.estimator);
  const missing = missingGroups(algorithm.adv_estimator, parts.estimator, members);
  if (missing) throw new ConfigError(missing);
  const { filter_groups: filter } = algorithm;
  const options: TrainingOptions = {
    seed: trainer.seed,
    iterations: totalIterations(config),
    threads: trainer.threads ?? undefined,
    world,
    play,
    model: {
      folder: model.path,
      lora:
        model.lora_rank === 0
          ? undefined
          : {
              rank: model.lora_rank,
              alpha: model.lora_alpha,
              dropout: model.lora_dropout,
              // What is none of the model's matrices is refused where they are known.
              targets: model.target_modules as "all-linear",
            },
      gradientCheckpointing: model.enable_gradient_checkpointing,
    },
    rollout: {
      tasks: data.train_batch_size,
      groupSize: members,
      sampling: samplingOf(rollout),
      shuffle: data.shuffle,
      shuffleSeed: data.seed ?? trainer.seed,
      oversample: config.env.rollout.oversample,
      filter: filter.enable
        ? { metric: metricOf(filter.metric), rounds: filter.max_num_gen_batches || 100 }
        : undefined,
    },
    rewards: rewardComponents(config, parts),
    advantages: advantageSettings(config, parts),
    passes: passOptions(config),
    actor: actorOptions(config, parts),
    critic: criticOptions(config),
    reference: {
      weights: policy.ref.fsdp_config.param_offload,
      tokensPerPass:
        policy.ref.log_prob_max_token_len_per_gpu ?? policy.actor.ppo_max_token_len_per_gpu,
    },
    validation: {
      every: Math.max(0, trainer.test_freq),
      first: trainer.val_before_train,
      only: trainer.val_only,
      tasks: data.val_batch_size,
      members: rollout.val_kwargs.n,
    },
    checkpoints: {
      every: Math.max(0, trainer.save_freq),
      keep: trainer.max_actor_ckpt_to_keep,
      notes: { [SETTINGS_FILE]: settingsNote(config) },
    },
    guards: {
      maxKl: trainer.max_kl,
      minEntropy: trainer.min_entropy,
      maxBadUpdates: trainer.max_bad_updates,
      targetSuccess: trainer.target_success ?? undefined,
      maxMinutes: trainer.max_minutes ?? undefined,
      maxMemoryGb: trainer.max_memory_gb ?? undefined,
    },
    run: {
      folder: runFolder(config),
      title: `${algorithm.adv_estimator} in ${config.env.env_name}`,
      subtitle: `${trainer.project_name} / ${trainer.experiment_name}, seed ${trainer.seed}`,
      start: resolve(model.path),
      record: stringify(withoutSecrets(config)),
      identity: identityOf(config, own),
      resume:
        trainer.resume_mode === "disable"
          ? "new"
          : trainer.resume_mode === "auto"
            ? "auto"
            : { from: trainer.resume_from_path! },
      keepTrajectories: trainer.keep_trajectories,
    },
  };
  return { options, world, play };
}

function metricOf(metric: Config["algorithm"]["filter_groups"]["metric"]) {
  return metric === null || metric === "seq_reward" ? "reward" : metric;
}

function worldOptions({ env, data }: Config, { world }: OwnParts): WorldOptions {
  return {
    world: world ?? env.env_name,
    options: env.options,
    seed: env.seed,
    trainSplit: env.train_split,
    valSplit: env.val_split,
    heldOut: data.held_out,
    turns: env.max_steps,
  };
}

function playOptions(config: Config, parts: FoundParts): PlayOptions {
  const { env, data, trainer, actor_rollout_ref: policy } = config;
  const { rollout } = policy;
  return {
    agent: {
      format: parts.format,
      context: env.context,
      showAdmissible: env.show_admissible,
      showInstruction: env.prompts !== "bare" && env.prompts !== "reminding",
      prompts: parts.prompts,
      ...(parts.tools.length > 0 && { tools: parts.tools }),
      ...(env.context === "steps" && { history: historyOf(env, parts) }),
    },
    limits: {
      promptTokens: data.max_prompt_length,
      tokens: env.rollout.max_tokens,
      parseFailures: env.rollout.max_parse_failures,
      seconds: env.rollout.episode_seconds,
    },
    replyTokens: data.max_response_length,
    constrain: rollout.constrain,
    validity: env.validity,
    concurrency: env.rollout.concurrency,
    retries: env.rollout.retries,
    engine: { cacheBytes: rollout.cache_bytes, tokensPerStep: rollout.max_num_batched_tokens },
    dtype: policy.model.dtype,
    device: trainer.device,
    evaluation: samplingOf({
      ...rollout.val_kwargs,
      temperature: rollout.val_kwargs.do_sample ? rollout.val_kwargs.temperature : 0,
    }),
    seed: trainer.seed,
  };
}

function historyOf(env: Config["env"], { history }: FoundParts): PlayOptions["agent"]["history"] {
  const length = env.history_length;
  if (history) return history;
  if (env.history === "memory") return { kind: "memory", length };
  if (env.history !== "summary" && !env.use_summary) return { kind: "window", length };
  return {
    kind: "summary",
    length,
    server:
      env.summary_endpoint === undefined
        ? undefined
        : {
            name: "env.summary_endpoint",
            endpoint: env.summary_endpoint,
            model: env.summary_model,
            key: env.summary_api_key,
            concurrency: env.summary_concurrency,
            temperature: 0.1,
          },
  };
}

function samplingOf(given: { temperature: number; top_k: number; top_p: number }) {
  const { temperature, top_k, top_p } = given;
  return { temperature, topK: Math.max(0, top_k), topP: top_p };
}

function rewardComponents(config: Config, { rewards: own }: FoundParts): RewardComponent[] {
  const { reward, reward_model, data, env } = config;
  const { overlong_buffer: buffer } = reward_model;
  const components = [
    environment(reward.environment),
    goal(reward.goal, reward.goal_failure),
    score(reward.score),
    timePenalty(reward.time_penalty),
    lengthPenalty(reward.length_penalty, {
      maximum: reward.length_maximum,
      minimum: reward.length_minimum,
      growth: reward.length_growth,
    }),
    format(reward.format),
    invalidActions(reward.invalid_actions, env.validity),
    repetition(reward.repetition),
    exploration(reward.exploration),
    consistency(reward.consistency),
    klPenalty(reward.kl),
    ...(buffer.enable
      ? [
          overlong(buffer.penalty_factor, {
            maximum: data.max_response_length,
            buffer: Math.min(buffer.len, data.max_response_length),
          }),
        ]
      : []),
    ...(reward.judge === 0 ? [] : [judgeOf(reward)]),
  ];
  if (hasNoReward(config) && own.length === 0)
    throw new ConfigError("every weight of reward.* is 0, and there is no reward of one's own");
  return [...components.filter(({ weight }) => weight !== 0), ...own];
}

function judgeOf(reward: Config["reward"]): RewardComponent {
  const ask = askServer({
    name: "reward.judge_endpoint",
    endpoint: reward.judge_endpoint!,
    model: reward.judge_model,
    key: reward.judge_api_key,
    maximumTokens: 200,
  });
  return judge(reward.judge, {
    ask,
    ...(reward.judge_rubric !== undefined && { rubric: reward.judge_rubric }),
  });
}

function advantageSettings(
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

function passOptions({ algorithm, trainer, actor_rollout_ref: policy }: Config) {
  const { actor, model, rollout } = policy;
  const { rollout_correction: correction } = algorithm;
  const precision = actor.autocast === "none" ? model.dtype : actor.autocast;
  return {
    temperature: rollout.temperature,
    tokensPerPass: rollout.log_prob_max_token_len_per_gpu ?? actor.ppo_max_token_len_per_gpu,
    autocast: actor.autocast,
    logprobTolerance: logprobTolerance(trainer.logprob_tolerance, precision),
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

function actorOptions(config: Config, { loss }: FoundParts): ActorOptions {
  const { actor } = config.actor_rollout_ref;
  const { policy_loss } = actor;
  return {
    optimizer: optimizerOptions(actor.optim, totalIterations(config)),
    offload: offloadOf(actor.fsdp_config),
    batching: actorBatching(config),
    loss: { name: policy_loss.loss_mode, kind: loss },
    lossOptions: {
      clipRatio: actor.clip_ratio,
      clipRatioLow: actor.clip_ratio_low,
      clipRatioHigh: actor.clip_ratio_high,
      clipRatioC: actor.clip_ratio_c,
      clipCovRatio: policy_loss.clip_cov_ratio,
      clipCovLow: policy_loss.clip_cov_lb,
      clipCovHigh: policy_loss.clip_cov_ub,
      klCovRatio: policy_loss.kl_cov_ratio,
      klCovCoefficient: policy_loss.ppo_kl_coef,
    },
    aggregation: actor.loss_agg_mode,
    horizon: actor.loss_scale_factor ?? config.data.max_response_length,
    entropy: actor.entropy_coeff,
    kl: actor.use_kl_loss
      ? { estimator: actor.kl_loss_type, coefficient: actor.kl_loss_coef }
      : undefined,
    varianceProxy: actor.calculate_sum_pi_squared,
  };
}

function actorBatching({ actor_rollout_ref: { actor } }: Config): BatchingOptions {
  return {
    miniBatchRows: actor.ppo_mini_batch_size,
    epochs: actor.ppo_epochs,
    shuffle: actor.shuffle,
    tokensPerPass: actor.ppo_max_token_len_per_gpu,
    gradientClip: actor.grad_clip,
  };
}

function criticOptions(config: Config): CriticOptions {
  const { critic, trainer } = config;
  const { actor } = config.actor_rollout_ref;
  const likeActor = actorBatching(config);
  return {
    folder: critic.model.path || undefined,
    gradientCheckpointing: critic.model.enable_gradient_checkpointing,
    optimizer: optimizerOptions(critic.optim, totalIterations(config)),
    offload: offloadOf(critic.model.fsdp_config),
    batching: {
      miniBatchRows: critic.ppo_mini_batch_size ?? likeActor.miniBatchRows,
      epochs: critic.ppo_epochs ?? likeActor.epochs,
      shuffle: critic.shuffle ?? likeActor.shuffle,
      tokensPerPass: critic.ppo_max_token_len_per_gpu ?? likeActor.tokensPerPass,
      gradientClip: critic.grad_clip,
    },
    aggregation: critic.loss_agg_mode ?? actor.loss_agg_mode,
    horizon: actor.loss_scale_factor ?? config.data.max_response_length,
    clipRange: critic.cliprange_value,
    warmupIterations: trainer.critic_warmup,
  };
}

function optimizerOptions(optim: Config["critic"]["optim"], iterations: number): OptimizerOptions {
  return {
    lr: optim.lr,
    warmupIterations:
      optim.lr_warmup_steps >= 0
        ? optim.lr_warmup_steps
        : Math.floor(optim.lr_warmup_steps_ratio * iterations),
    schedule: optim.lr_scheduler_type ?? optim.warmup_style ?? "constant",
    endFactor: optim.min_lr_ratio ?? 0,
    weightDecay: optim.weight_decay,
    betas: optim.betas,
    epsilon: optim.eps,
  };
}

function offloadOf(place: { param_offload: boolean; optimizer_offload: boolean }) {
  return { weights: place.param_offload, moments: place.optimizer_offload };
}
