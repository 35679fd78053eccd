/**
 * @file The models that learn, and the reference: optimisers, batches, losses, sharding, offload.
 */
import {
  type ActorOptions,
  type BatchingOptions,
  type CriticOptions,
  MOST_TOKENS_OF_PASS,
  type OptimizerOptions,
  type ShardingOptions,
  type TrainingOptions,
} from "../../training/index.ts";
import { totalIterations } from "../combinations.ts";
import type { FoundParts } from "../own-parts.ts";
import type { Config } from "../schema.ts";

export function actorOptions(config: Config, { loss }: FoundParts): ActorOptions {
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

export function criticOptions(config: Config): CriticOptions {
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

export function referenceOptions({
  actor_rollout_ref: { ref, actor },
}: Config): TrainingOptions["reference"] {
  return {
    weights: ref.fsdp_config.param_offload,
    sharding: shardingOf(ref.strategy ?? actor.strategy, ref.fsdp_config),
    tokensPerPass:
      ref.log_prob_max_token_len_per_gpu ?? actor.ppo_max_token_len_per_gpu ?? MOST_TOKENS_OF_PASS,
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
