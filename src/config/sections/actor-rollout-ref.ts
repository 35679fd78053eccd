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

const ONE_PROCESS = "sequences are packed by token budget, never padded";
const NO_RAY = "there is neither Ray nor vLLM here; generation is in the process";

/** Offload, with the names of verl's FSDP section. */
const offloadSettings = () => ({
  param_offload: setting(
    z.boolean().default(false),
    "Keeps the weights in a memory-mapped file of the run's folder, which the system may take out of memory when it needs room. On a CPU.",
  ),
  optimizer_offload: setting(z.boolean().default(false), "The same for the optimiser's state."),
  fsdp_size: inert(z.int().default(-1), "weights are whole in each process"),
  wrap_policy: inert(z.unknown().optional(), "weights are whole in each process"),
  model_dtype: inert(z.string().optional(), "actor_rollout_ref.model.dtype says it"),
});

const offload = () => section(offloadSettings());

const microBatches = {
  ppo_micro_batch_size: inert(count.nullable().default(null), ONE_PROCESS),
  ppo_micro_batch_size_per_gpu: inert(count.nullable().default(null), ONE_PROCESS),
  use_dynamic_bsz: inert(z.boolean().default(true), "it is always so"),
};

const logprobBatches = {
  log_prob_micro_batch_size: inert(count.nullable().default(null), ONE_PROCESS),
  log_prob_micro_batch_size_per_gpu: inert(count.nullable().default(null), ONE_PROCESS),
  log_prob_use_dynamic_bsz: inert(z.boolean().default(true), "it is always so"),
  log_prob_max_token_len_per_gpu: setting(
    count.optional(),
    "Tokens of one pass when only log-probabilities are computed. Default: the actor's number.",
  ),
};

export const model = section({
  path: setting(
    z.string().default(""),
    "The folder of the model, in Hugging Face's format (config.json, *.safetensors, tokenizer.json).",
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
  strategy: inert(z.string().default("fsdp"), "gradients are summed over the processes"),
  ...microBatches,
  ppo_mini_batch_size: setting(
    count.default(256),
    "Rows (conversations, or turns in the context steps) per update; a batch that has fewer is one update.",
  ),
  ppo_max_token_len_per_gpu: setting(
    count.default(8192),
    "Tokens of one forward and backward pass: the memory dial.",
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

const rollout = section({
  name: inert(z.string().default("openmanus"), NO_RAY),
  mode: inert(z.string().default("async"), NO_RAY),
  n: setting(count.optional(), "Episodes per task; the same as env.rollout.n, which wins."),
  temperature: setting(
    positive.default(1),
    "Of sampling in training. Losses are of the same temperature.",
  ),
  top_k: setting(z.int().min(-1).default(-1), "Only the k most likely tokens; -1: all."),
  top_p: setting(z.number().gt(0).max(1).default(1), "Only the most likely tokens of this mass."),
  do_sample: inert(z.boolean().default(true), "temperature says it"),
  ignore_eos: inert(z.boolean().default(false), "a reply ends where the model ends it"),
  cache_bytes: setting(count.default(2 ** 30), "Memory of the key-value cache."),
  max_num_batched_tokens: setting(
    count.default(2048),
    "Tokens that one step of generation computes.",
  ),
  constrain: setting(
    z.boolean().default(false),
    "Only admissible actions can be generated. To be reported apart from free generation.",
  ),
  val_kwargs: section({
    temperature: setting(
      notNegative.default(0.4),
      "Of sampling in validation; 0: the most likely token.",
    ),
    do_sample: setting(z.boolean().default(true), "False: the most likely token."),
    top_k: setting(z.int().min(-1).default(-1), "As in training."),
    top_p: setting(z.number().gt(0).max(1).default(1), "As in training."),
    n: setting(count.default(1), "Episodes per task in validation."),
  }),
  tensor_model_parallel_size: inert(count.default(1), NO_RAY),
  gpu_memory_utilization: inert(share.default(0.5), "cache_bytes says it"),
  enforce_eager: inert(z.boolean().default(false), NO_RAY),
  free_cache_engine: inert(z.boolean().default(true), NO_RAY),
  enable_chunked_prefill: inert(z.boolean().default(true), "prompts are always cut to fit"),
  load_format: inert(z.string().default("auto"), "weights are shared with the actor"),
  dtype: inert(z.string().optional(), "weights are shared with the actor"),
  max_num_seqs: inert(count.optional(), "all that fit run at once"),
  max_model_len: inert(count.nullable().optional(), "the model's own"),
  response_length: inert(count.optional(), "data.max_response_length says it"),
  prompt_length: inert(count.optional(), "data.max_prompt_length says it"),
  disable_log_stats: inert(z.boolean().default(true), NO_RAY),
  engine_kwargs: inert(z.unknown().optional(), NO_RAY),
  multi_turn: inert(z.unknown().optional(), "every episode has as many turns as env.max_steps"),
  ...logprobBatches,
});

const ref = section({
  fsdp_config: section({
    ...offloadSettings(),
    optimizer_offload: inert(z.boolean().default(false), "the reference has no optimiser"),
  }),
  ...logprobBatches,
});

export const actorRolloutRef = section({
  hybrid_engine: inert(z.boolean().default(true), NO_RAY),
  model,
  actor,
  rollout,
  ref,
});

export const critic = section({
  strategy: inert(z.string().default("fsdp"), "gradients are summed over the processes"),
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
