/**
 * @file `actor_rollout_ref.*`: the policy's model, its update, its generation, its reference.
 */
import { z } from "zod";
import { AGGREGATION_MODES } from "../../algorithms/index.ts";
import { LOSS_NAMES } from "../names.ts";
import {
  count,
  countOrZero,
  inert,
  named,
  notNegative,
  positive,
  section,
  setting,
  share,
} from "../setting.ts";
import { klEstimator } from "./algorithm.ts";
import { optimizer } from "./optimizer.ts";
import { logprobBatches, rollout } from "./rollout.ts";

const ONE_PROCESS = "sequences are packed by token budget, never padded";

const STRATEGIES = ["fsdp", "fsdp2", "ddp"] as const;

const strategy = () =>
  setting(
    z.enum(STRATEGIES).default("fsdp"),
    "With several ranks: fsdp or fsdp2 keep weights, gradients and moments in shards (FULL_SHARD), ddp whole in each rank. Alone it does not matter.",
  );

/** Offload, with the names of verl's FSDP section. */
const offloadSettings = () => ({
  param_offload: setting(
    z.boolean().default(false),
    "Keeps the weights in a memory-mapped file of the run's folder, which the system may take out of memory when it needs room. Of a device: keeps them in the host's memory between their uses.",
  ),
  optimizer_offload: setting(z.boolean().default(false), "The same for the optimiser's state."),
  fsdp_size: setting(
    z.int().min(-1).default(-1),
    "With strategy fsdp: how many ranks share one copy of the weights, each its part; -1: all. Fewer: hybrid sharding, whose copies exchange gradients.",
  ),
  reshard_after_forward: setting(
    z.boolean().default(true),
    "With strategy fsdp: layers are let go after their forward pass and fetched again for the backward pass. False: they stay until then, for a third less traffic.",
  ),
  forward_prefetch: setting(
    z.boolean().default(true),
    "With strategy fsdp: the next layer is fetched while one is computed, in both directions (verl's default is false, where a GPU's queue does it anyway).",
  ),
  mixed_precision: section({
    param_dtype: setting(
      z.enum(["fp32", "float32", "bf16", "bfloat16"]).nullable().default(null),
      "With strategy fsdp: what weights are fetched, computed and generated with; what is trained stays float32. Default: model.dtype.",
    ),
    reduce_dtype: inert(z.string().default("fp32"), "gradients are always summed in float32"),
    buffer_dtype: inert(z.string().default("fp32"), "there are no buffers"),
  }),
  wrap_policy: inert(z.unknown().optional(), "every decoder layer is a unit"),
  model_dtype: inert(z.string().optional(), "actor_rollout_ref.model.dtype says it"),
});

const offload = () => section(offloadSettings());

const microBatches = {
  ppo_micro_batch_size: inert(count.nullable().default(null), ONE_PROCESS),
  ppo_micro_batch_size_per_gpu: inert(count.nullable().default(null), ONE_PROCESS),
  use_dynamic_bsz: inert(z.boolean().default(true), "it is always so"),
};

export const model = section({
  path: setting(
    z.string().default(""),
    "The folder of the model, in Hugging Face's format (config.json, *.safetensors, tokenizer.json), or its name on the Hub (org/name, org/name@revision).",
  ),
  dtype: setting(
    z.enum(["float32", "bfloat16", "float16"]).default("float32"),
    "In which weights are held. Mixed precision is actor.autocast.",
  ),
  enable_gradient_checkpointing: setting(
    z.boolean().default(false),
    "Keeps only what is between layers and computes the rest again in the backward pass.",
  ),
  lora_rank: setting(countOrZero.default(0), "0: all weights are trained; else LoRA of that rank."),
  lora_alpha: setting(positive.default(16), "LoRA's scale is alpha / rank."),
  lora_dropout: setting(share.default(0), "Dropout on LoRA's input."),
  target_modules: setting(
    z.union([z.string(), z.array(z.string())]).default("all-linear"),
    "Matrices that get an adapter: all-linear, or a list of q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj.",
  ),
  use_remove_padding: inert(z.boolean().default(true), ONE_PROCESS),
  use_fused_kernels: inert(z.boolean().default(true), "ours are always used"),
  use_shm: inert(z.boolean().default(false), "weights are memory-mapped"),
  trust_remote_code: inert(z.boolean().default(false), "no code comes from a model folder"),
  external_lib: inert(z.string().nullable().default(null), "models are TypeScript"),
  override_config: inert(z.unknown().optional(), "config.json is read as it is"),
});

const actor = section({
  strategy: strategy(),
  ...microBatches,
  ppo_mini_batch_size: setting(
    count.default(256),
    "Rows (conversations, or turns in the context steps) per update; a batch that has fewer is one update.",
  ),
  ppo_max_token_len_per_gpu: setting(
    count.optional(),
    "Tokens of one forward and backward pass: the memory dial. Default: as many as keep 2 GB for the way back, at most 8192.",
  ),
  use_prefix_grouper: setting(
    z.boolean().default(true),
    "What sequences begin with in common (a group's prompt, equal first turns) is computed once, by actor, reference and critic; false: each by itself.",
  ),
  ppo_epochs: setting(count.default(1), "Passes over each batch."),
  shuffle: setting(z.boolean().default(true), "Whether rows are shuffled into mini-batches."),
  grad_clip: setting(positive.default(1), "Gradients of a larger norm are scaled down to it."),
  clip_ratio: setting(notNegative.default(0.2), "PPO's ε."),
  clip_ratio_low: setting(notNegative.optional(), "ε below. Default: clip_ratio."),
  clip_ratio_high: setting(
    notNegative.optional(),
    "ε above (DAPO's clip-higher). Default: clip_ratio.",
  ),
  clip_ratio_c: setting(z.number().gt(1).default(3), "The dual clip's bound."),
  policy_loss: section({
    loss_mode: setting(
      named(LOSS_NAMES).default("vanilla"),
      "The policy loss; a file of one's own exports one.",
    ),
    clip_cov_ratio: setting(share.default(0.0002), "clip_cov: share of tokens cut out."),
    clip_cov_lb: setting(z.number().default(1), "clip_cov: only covariances above this."),
    clip_cov_ub: setting(z.number().default(5), "clip_cov: only covariances below this."),
    kl_cov_ratio: setting(share.default(0.0002), "kl_cov: share of tokens held back."),
    ppo_kl_coef: setting(notNegative.default(0.1), "kl_cov: how strongly."),
  }),
  loss_agg_mode: setting(
    z.enum(AGGREGATION_MODES).default("token-mean"),
    "How losses of tokens become one, over the whole mini-batch and all processes.",
  ),
  loss_scale_factor: setting(
    positive.nullish(),
    "The constant length of seq-mean-token-sum-norm. Default: data.max_response_length.",
  ),
  entropy_coeff: setting(z.number().default(0), "Weight of the entropy bonus."),
  use_kl_loss: setting(
    z.boolean().default(false),
    "Whether the KL to the reference is in the loss.",
  ),
  kl_loss_coef: setting(notNegative.default(0.001), "Its weight."),
  kl_loss_type: setting(klEstimator.default("low_var_kl"), "Its estimator."),
  use_invalid_action_penalty: setting(
    z.boolean().default(true),
    "Whether a step whose action is invalid is penalised.",
  ),
  invalid_action_penalty_coef: setting(notNegative.default(0.1), "By how much."),
  calculate_sum_pi_squared: setting(
    z.boolean().default(false),
    "Whether the gradient's signal and noise are estimated (variance_proxy/ in the metrics).",
  ),
  autocast: setting(
    z.enum(["none", "bfloat16", "float16"]).default("none"),
    "Mixed precision: matrix products in the lower precision; float16 with loss scaling.",
  ),
  optim: optimizer(1e-6),
  fsdp_config: offload(),
  ulysses_sequence_parallel_size: inert(count.default(1), "sequences are not split"),
  use_torch_compile: inert(z.boolean().default(false), "there is no compiler here"),
  checkpoint: inert(z.unknown().optional(), "checkpoints hold everything"),
});

const ref = section({
  strategy: setting(
    z.enum(STRATEGIES).optional(),
    "As for the actor, whose is the default: a reference in shards, or whole in each rank.",
  ),
  fsdp_config: section({
    ...offloadSettings(),
    optimizer_offload: inert(z.boolean().default(false), "the reference has no optimiser"),
  }),
  ...logprobBatches,
});

export const actorRolloutRef = section({
  hybrid_engine: inert(
    z.boolean().default(true),
    "rollout.name says who generates; Ray is not needed for it",
  ),
  model,
  actor,
  rollout,
  ref,
});

export const critic = section({
  strategy: strategy(),
  model: section({
    path: setting(
      z.string().default(""),
      "A value model, or a policy whose backbone it starts from. Default: the actor's model.",
    ),
    enable_gradient_checkpointing: setting(z.boolean().default(false), "As for the actor."),
    use_remove_padding: inert(z.boolean().default(true), ONE_PROCESS),
    tokenizer_path: inert(z.string().optional(), "the actor's tokenizer is used"),
    trust_remote_code: inert(z.boolean().default(false), "no code comes from a model folder"),
    external_lib: inert(z.string().nullable().default(null), "models are TypeScript"),
    fsdp_config: offload(),
  }),
  ...microBatches,
  ppo_mini_batch_size: setting(count.optional(), "Rows per update. Default: the actor's number."),
  ppo_max_token_len_per_gpu: setting(count.optional(), "Default: the actor's number."),
  forward_micro_batch_size: inert(count.nullable().default(null), ONE_PROCESS),
  forward_micro_batch_size_per_gpu: inert(count.nullable().default(null), ONE_PROCESS),
  ppo_epochs: setting(count.optional(), "Default: the actor's number."),
  shuffle: setting(z.boolean().optional(), "Default: as for the actor."),
  grad_clip: setting(positive.default(1), "Gradients of a larger norm are scaled down to it."),
  cliprange_value: setting(notNegative.default(0.5), "How far a value may move in one update."),
  loss_agg_mode: setting(z.enum(AGGREGATION_MODES).optional(), "Default: as for the actor."),
  optim: optimizer(1e-5),
});
