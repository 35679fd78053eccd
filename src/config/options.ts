/**
 * @file The border: from verl's tree of settings to the options that a run follows. Behind this file nobody
 * knows verl's names.
 */
import { resolve } from "node:path";
import { stringify } from "yaml";
import {
  askServer,
  type PlayOptions,
  requireModelFolder,
  valueJudge,
  type WorldOptions,
} from "../assembly/index.ts";
import { modelFolderOf } from "../models/index.ts";
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
  requireScorer,
  rewardModel,
  type ScorerOptions,
  score,
  timePenalty,
} from "../rewards/index.ts";
import { type SearchOptions, searchProblem } from "../rollout/index.ts";
import { findRendezvous } from "../torch/index.ts";
import {
  type ActorOptions,
  type BatchingOptions,
  type CriticOptions,
  logprobTolerance,
  MOST_TOKENS_OF_PASS,
  type OptimizerOptions,
  type ShardingOptions,
  stagesProblem,
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
import { comparable, identityOf, runFolder, withoutSecrets } from "./record.ts";
import type { Config } from "./schema.ts";
import { secretOf } from "./secrets.ts";
import { servedOptions } from "./served.ts";
import { changesSince } from "./stored/changes.ts";

export type { OwnParts } from "./own-parts.ts";

export interface ResolvedRun {
  readonly options: TrainingOptions;
  readonly world: WorldOptions;
  readonly play: PlayOptions;
}

/** Everything that a configuration asks for, with things of one's own in their places. */
export async function runOptions(config: Config, own: OwnParts = {}): Promise<ResolvedRun> {
  const parts = await findParts(config, own);
  const play = playOptions(config, parts);
  const world = worldOptions(config, own, play);
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
      served: servedOptions(config),
      oneStepOff: rollout.one_step_off ?? false,
      tensorParallel: rollout.tensor_model_parallel_size,
      shuffle: data.shuffle,
      shuffleSeed: data.seed ?? trainer.seed,
      curriculum: curriculumOptions(data.curriculum),
      oversample: config.env.rollout.oversample,
      filter: filter.enable
        ? { metric: metricOf(filter.metric), rounds: filter.max_num_gen_batches || 100 }
        : undefined,
    },
    rewards: rewardComponents(config, parts),
    rewardSeconds: config.reward.seconds ?? Infinity,
    advantages: advantageSettings(config, parts),
    replay: replayOptions(algorithm.replay),
    passes: passOptions(config),
    actor: actorOptions(config, parts),
    critic: criticOptions(config),
    reference: {
      weights: policy.ref.fsdp_config.param_offload,
      sharding: shardingOf(policy.ref.strategy ?? policy.actor.strategy, policy.ref.fsdp_config),
      tokensPerPass:
        policy.ref.log_prob_max_token_len_per_gpu ??
        policy.actor.ppo_max_token_len_per_gpu ??
        MOST_TOKENS_OF_PASS,
    },
    validation: {
      every: Math.max(0, trainer.test_freq),
      first: trainer.val_before_train,
      only: trainer.val_only,
      tasks: data.val_batch_size,
      members: rollout.val_kwargs.n,
      also: config.env.also_validate,
    },
    checkpoints: {
      every: Math.max(0, trainer.save_freq),
      keep: trainer.max_actor_ckpt_to_keep,
      inShards: trainer.sharded_checkpoints,
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
    alarms: {
      ignored: trainer.ignore_alarms,
      onAlarm: trainer.on_alarm,
      rollbackLrFactor: trainer.rollback_lr_factor,
      maxRollbacks: trainer.max_rollbacks,
    },
    run: {
      folder: runFolder(config),
      title: `${algorithm.adv_estimator} in ${config.env.env_name}`,
      subtitle: `${trainer.project_name} / ${trainer.experiment_name}, seed ${trainer.seed}`,
      start: placeOf(model.path),
      record: stringify(withoutSecrets(config)),
      identity: identityOf(config, own),
      changesSince: (before) => changesSince(before, comparable(config, own)),
      resume:
        trainer.resume_mode === "disable"
          ? "new"
          : trainer.resume_mode === "auto"
            ? "auto"
            : { from: trainer.resume_from_path! },
      keepTrajectories: trainer.keep_trajectories,
      tokenGroups: trainer.token_record_groups,
      liveEpisodes: trainer.live_episodes,
    },
  };
  return { options, world, play };
}

/** A folder by its whole path; a name on the Hub is one already. */
function placeOf(model: string): string {
  return modelFolderOf(model) === model ? resolve(model) : model;
}

function metricOf(metric: Config["algorithm"]["filter_groups"]["metric"]) {
  return metric === null || metric === "seq_reward" ? "reward" : metric;
}

function worldOptions(
  { env, data }: Config,
  { world }: OwnParts,
  { agent, limits }: PlayOptions,
): WorldOptions {
  return {
    world: world ?? env.env_name,
    options: env.options,
    seed: env.seed,
    trainSplit: env.train_split,
    valSplit: env.val_split,
    heldOut: data.held_out,
    turns: env.max_steps,
    openSeconds: env.open_seconds ?? Infinity,
    isolate: {
      processes: env.isolate,
      memory: env.isolate_memory_mb,
      stepSeconds: env.rollout.step_seconds ?? Infinity,
      variables: env.isolate_variables,
    },
    examples:
      env.examples === 0 ? undefined : { from: env.examples, agent, limits, seed: env.seed },
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
      stepSeconds: env.rollout.step_seconds ?? Infinity,
      observationCharacters: env.max_observation_characters,
    },
    replyTokens: data.max_response_length,
    constrain: rollout.constrain,
    validity: env.validity,
    concurrency: env.rollout.concurrency,
    retries: env.rollout.retries,
    search: searchOptions(env, { dtype: policy.model.dtype, device: deviceOf(trainer.device) }),
    engine: {
      cacheBytes: rollout.cache_bytes,
      tokensPerStep: rollout.max_num_batched_tokens,
      speculation: rollout.speculation,
      quantization: rollout.quantization ?? undefined,
    },
    dtype: policy.model.dtype,
    device: deviceOf(trainer.device),
    evaluation: samplingOf({
      ...rollout.val_kwargs,
      temperature: rollout.val_kwargs.do_sample ? rollout.val_kwargs.temperature : 0,
    }),
    seed: trainer.seed,
  };
}

function searchOptions(
  { search, context }: Config["env"],
  load: Pick<PlayOptions, "dtype" | "device">,
): SearchOptions | undefined {
  const { strategy, judge: name, judge_path: folder, judge_scale: scale, ...rest } = search;
  const { budget_tokens: tokens, budget_states: states, budget_seconds: seconds, ...how } = rest;
  if (strategy === "sample") return undefined;
  const judge =
    name === "reward_model" || name === "critic"
      ? valueJudge({ kind: name, folder: folder!, context, scale, ...(load as ScorerOptions) })
      : name;
  const options = { ...how, strategy, judge, budget: { tokens, states, seconds } };
  const problem = searchProblem(options);
  if (problem) throw new ConfigError(`env.search: ${problem}`);
  return options;
}

function curriculumOptions({
  by,
  ...how
}: Config["data"]["curriculum"]): TrainingOptions["rollout"]["curriculum"] {
  if (by === "none") return undefined;
  const problem = by === "horizon" && stagesProblem(how.stages);
  if (problem) throw new ConfigError(`data.curriculum.stages: ${problem}`);
  return { by, ...how };
}

function replayOptions(replay: Config["algorithm"]["replay"]): TrainingOptions["replay"] {
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
            key: secretOf("env.summary_api_key", env.summary_api_key),
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
    ...(reward.model === 0 ? [] : [rewardModelOf(config)]),
  ];
  if (hasNoReward(config) && own.length === 0)
    throw new ConfigError("every weight of reward.* is 0, and there is no reward of one's own");
  return [...components.filter(({ weight }) => weight !== 0), ...own];
}

function rewardModelOf({ reward, actor_rollout_ref: policy, trainer }: Config): RewardComponent {
  const folder = requireModelFolder(reward.model_path!);
  try {
    requireScorer(folder, "reward model");
  } catch (error) {
    throw new ConfigError(`reward.model_path: ${(error as Error).message}`);
  }
  const device = deviceOf(trainer.device) as ScorerOptions["device"];
  return rewardModel(reward.model, folder, { dtype: policy.model.dtype, device });
}

function judgeOf(reward: Config["reward"]): RewardComponent {
  const ask = askServer({
    name: "reward.judge_endpoint",
    endpoint: reward.judge_endpoint!,
    model: reward.judge_model,
    key: secretOf("reward.judge_api_key", reward.judge_api_key),
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

function passOptions(config: Config) {
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

function actorOptions(config: Config, { loss }: FoundParts): ActorOptions {
  const { actor } = config.actor_rollout_ref;
  const { policy_loss } = actor;
  return {
    optimizer: optimizerOptions(actor.optim, totalIterations(config)),
    offload: offloadOf(actor.fsdp_config),
    sharding: shardingOf(actor.strategy, actor.fsdp_config),
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

/** Of several ranks on a machine, each has a GPU of its own unless one was named. */
function deviceOf(device: string): string {
  const { worldSize, localRank } = findRendezvous();
  const isOne = device === "cpu" || device.includes(":") || worldSize === 1;
  return isOne ? device : `${device}:${localRank}`;
}

function actorBatching({ actor_rollout_ref: { actor } }: Config): BatchingOptions {
  return {
    miniBatchRows: actor.ppo_mini_batch_size,
    epochs: actor.ppo_epochs,
    shuffle: actor.shuffle,
    tokensPerPass: actor.ppo_max_token_len_per_gpu,
    sharePrefixes: actor.use_prefix_grouper,
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
    sharding: shardingOf(critic.strategy, critic.model.fsdp_config),
    batching: {
      miniBatchRows: critic.ppo_mini_batch_size ?? likeActor.miniBatchRows,
      epochs: critic.ppo_epochs ?? likeActor.epochs,
      shuffle: critic.shuffle ?? likeActor.shuffle,
      tokensPerPass: critic.ppo_max_token_len_per_gpu ?? likeActor.tokensPerPass,
      sharePrefixes: likeActor.sharePrefixes,
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

function shardingOf(
  strategy: string,
  fsdp: Omit<Config["actor_rollout_ref"]["ref"]["fsdp_config"], "optimizer_offload">,
): ShardingOptions {
  const { param_dtype: dtype } = fsdp.mixed_precision;
  return {
    enabled: strategy !== "ddp",
    ranksPerCopy: fsdp.fsdp_size > 0 ? fsdp.fsdp_size : undefined,
    reshardAfterForward: fsdp.reshard_after_forward,
    prefetch: fsdp.forward_prefetch,
    computeDtype: dtype === null ? undefined : dtype.startsWith("b") ? "bfloat16" : "float32",
  };
}

function offloadOf(place: { param_offload: boolean; optimizer_offload: boolean }) {
  return { weights: place.param_offload, moments: place.optimizer_offload };
}
