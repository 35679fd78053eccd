/**
 * @file What verl's trainer can be told: the names of its settings and the defaults of those that we have,
 * and of the others why they are refused here. Facts from verl's own reference file
 * (verl/trainer/config/_generated_ppo_trainer.yaml of github.com/verl-project/verl, commit 01d4d76) and
 * from verl-agent's ppo_trainer.yaml. docs/verl.md is made from it; tests/config/resolve.test.ts holds it
 * against our schema, so that what is built later must be moved.
 */
import type { VerlFacts } from "../../src/config/reference.ts";

const names = (section: string, list: string): string[] =>
  list
    .trim()
    .split(/\s+/)
    .map((name) => (section === "" ? name : `${section}.${name}`));

const OPTIMIZER =
  "optimizer optimizer_impl lr lr_warmup_steps_ratio total_training_steps weight_decay lr_warmup_steps " +
  "betas clip_grad min_lr_ratio num_cycles lr_scheduler_type zero_indexed_step warmup_style " +
  "override_optimizer_config";

const ENGINE =
  "wrap_policy param_offload optimizer_offload offload_policy reshard_after_forward fsdp_size " +
  "forward_prefetch model_dtype use_orig_params seed full_determinism ulysses_sequence_parallel_size " +
  "entropy_from_logits_with_chunking entropy_from_logits_chunk_size use_torch_compile " +
  "entropy_checkpointing use_no_sync_for_gradient_accumulation pad_to_length pad_to_length_bucket " +
  "forward_only strategy dtype qat turbo_config mixed_precision.param_dtype mixed_precision.reduce_dtype " +
  "mixed_precision.buffer_dtype";

const MODEL =
  "path hf_config_path tokenizer_path use_shm trust_remote_code custom_chat_template external_lib " +
  "override_config enable_gradient_checkpointing enable_activation_offload use_remove_padding lora_rank " +
  "lora_alpha target_modules exclude_modules lora_adapter_path use_liger use_fused_kernels " +
  "fused_kernel_options tiled_mlp mtp lora";

const LOGPROB =
  "log_prob_micro_batch_size log_prob_micro_batch_size_per_gpu log_prob_use_dynamic_bsz " +
  "log_prob_max_token_len_per_gpu";

const keys = [
  ...names("actor_rollout_ref", "hybrid_engine nccl_timeout"),
  ...names("actor_rollout_ref.model", MODEL),
  ...names(
    "actor_rollout_ref.actor",
    "rollout_n strategy ppo_mini_batch_size ppo_micro_batch_size ppo_micro_batch_size_per_gpu " +
      "use_dynamic_bsz ppo_max_token_len_per_gpu clip_ratio clip_ratio_low clip_ratio_high clip_ratio_c " +
      "tau_pos tau_neg freeze_vision_tower loss_agg_mode loss_scale_factor entropy_coeff calculate_entropy " +
      "calculate_sum_pi_squared use_kl_loss use_prefix_grouper use_torch_compile kl_loss_coef kl_loss_type " +
      "use_invalid_action_penalty invalid_action_penalty_coef ppo_epochs shuffle data_loader_seed checkpoint " +
      "use_fused_kernels profiler router_replay qat grad_clip ulysses_sequence_parallel_size " +
      "entropy_from_logits_with_chunking entropy_from_logits_chunk_size entropy_checkpointing pad_to_length " +
      "use_remove_padding",
  ),
  ...names(
    "actor_rollout_ref.actor.policy_loss",
    "loss_mode clip_cov_ratio clip_cov_lb clip_cov_ub kl_cov_ratio ppo_kl_coef dro_beta",
  ),
  ...names("actor_rollout_ref.actor.optim", OPTIMIZER),
  ...names("actor_rollout_ref.actor.fsdp_config", ENGINE),
  ...names("actor_rollout_ref.ref", `rollout_n strategy use_torch_compile ${LOGPROB}`),
  ...names(
    "actor_rollout_ref.ref",
    "profiler router_replay ulysses_sequence_parallel_size entropy_from_logits_with_chunking " +
      "entropy_from_logits_chunk_size entropy_checkpointing pad_to_length",
  ),
  ...names("actor_rollout_ref.ref.fsdp_config", ENGINE),
  ...names(
    "actor_rollout_ref.rollout",
    "name mode nnodes n_gpus_per_node temperature top_k top_p full_determinism seed prompt_length " +
      "response_length dtype gpu_memory_utilization ignore_eos enforce_eager cudagraph_capture_sizes " +
      "free_cache_engine tensor_model_parallel_size data_parallel_size expert_parallel_size " +
      "pipeline_model_parallel_size max_num_batched_tokens max_model_len max_num_seqs " +
      "enable_chunked_prefill enable_prefix_caching logprobs_mode scheduling_policy load_format " +
      `layered_summon ${LOGPROB} disable_log_stats do_sample n over_sample_rate multi_stage_wake_up ` +
      "engine_kwargs multi_turn calculate_log_probs agent checkpoint_engine trace skip_tokenizer_init " +
      "enable_rollout_routing_replay moe_load_balance_metrics_interval profiler prometheus quantization " +
      "quantization_config_file mtp qat disaggregation chat_scheduler use_fire_sampling",
  ),
  ...names("actor_rollout_ref.rollout.val_kwargs", "top_k top_p temperature n do_sample"),
  ...names(
    "data",
    "tokenizer use_shm train_files val_files train_max_samples val_max_samples prompt_key reward_fn_key " +
      "max_prompt_length max_response_length train_batch_size gen_batch_size val_batch_size " +
      "tool_config_path function_tool_path return_raw_input_ids return_raw_chat return_full_prompt shuffle " +
      "seed dataloader_num_workers image_patch_size validation_shuffle filter_overlong_prompts " +
      "filter_overlong_prompts_workers truncation image_key video_key audio_key trust_remote_code " +
      "custom_cls return_multi_modal_inputs apply_chat_template_kwargs mm_processor_kwargs sampler datagen",
  ),
  ...names(
    "critic",
    "rollout_n strategy enable ppo_mini_batch_size ppo_micro_batch_size ppo_micro_batch_size_per_gpu " +
      "use_dynamic_bsz ppo_max_token_len_per_gpu forward_max_token_len_per_gpu ppo_epochs shuffle " +
      "data_loader_seed cliprange_value loss_agg_mode loss_scale_factor checkpoint profiler " +
      "forward_micro_batch_size forward_micro_batch_size_per_gpu ulysses_sequence_parallel_size grad_clip",
  ),
  ...names("critic.optim", OPTIMIZER),
  "critic.fsdp",
  ...names("critic.model", MODEL),
  ...names(
    "critic.model.fsdp_config",
    "wrap_policy param_offload optimizer_offload fsdp_size model_dtype reshard_after_forward " +
      "forward_prefetch mixed_precision.param_dtype mixed_precision.reduce_dtype mixed_precision.buffer_dtype",
  ),
  ...names(
    "algorithm",
    "adv_estimator gamma lam norm_adv_by_std_in_grpo use_kl_in_reward kl_penalty use_pf_ppo",
  ),
  ...names("algorithm.kl_ctrl", "type kl_coef horizon target_kl"),
  ...names("algorithm.pf_ppo", "reweight_method weight_pow"),
  ...names(
    "algorithm.filter_groups",
    "enable metric max_num_gen_batches max_inflight_gen_batches filter_function filter_kwargs",
  ),
  ...names(
    "algorithm.rollout_correction",
    "rollout_is rollout_is_threshold rollout_rs rollout_rs_threshold bypass_mode loss_type " +
      "rollout_is_batch_normalize debug_rollout_actor_probs",
  ),
  ...names("algorithm.gigpo", "step_advantage_w mode enable_similarity similarity_thresh"),
  ...names(
    "env",
    "env_name seed max_steps history_length resources_per_worker rollout.n alfworld.eval_dataset " +
      "webshop.use_small webshop.human_goals search sokoban",
  ),
  ...names(
    "reward_model",
    "enable reward_manager num_workers enable_resource_pool n_gpus_per_node nnodes reward_loop_source " +
      "reward_loop_module_path reward_loop_class_name model rollout strategy micro_batch_size " +
      "micro_batch_size_per_gpu max_length use_dynamic_bsz forward_max_token_len_per_gpu " +
      "ulysses_sequence_parallel_size launch_reward_fn_async sandbox_fusion profiler",
  ),
  ...names("reward_model.overlong_buffer", "enable len penalty_factor log"),
  ...names("custom_reward_function", "path name reward_kwargs"),
  ...names(
    "reward",
    "num_workers custom_reward_function reward_manager reward_model sandbox_fusion",
  ),
  ...names(
    "trainer",
    "balance_batch total_epochs total_training_steps project_name experiment_name logger " +
      "log_val_generations rollout_data_dir validation_data_dir nnodes n_gpus_per_node save_freq " +
      "esi_redundant_time resume_mode resume_from_path val_before_train val_only test_freq critic_warmup " +
      "default_hdfs_dir del_local_ckpt_after_load default_local_dir max_actor_ckpt_to_keep " +
      "max_critic_ckpt_to_keep ray_wait_register_center_timeout device use_v1 v1",
  ),
  ...names(
    "",
    "global_profiler ray_init ray_kwargs sandbox_fusion distillation transfer_queue skip",
  ),
];

/** verl's own default of each setting that works here. */
const defaults: Readonly<Record<string, unknown>> = {
  "actor_rollout_ref.model.enable_gradient_checkpointing": true,
  "actor_rollout_ref.model.lora_rank": 0,
  "actor_rollout_ref.model.lora_alpha": 16,
  "actor_rollout_ref.model.target_modules": "all-linear",
  "actor_rollout_ref.actor.ppo_mini_batch_size": 256,
  "actor_rollout_ref.actor.ppo_max_token_len_per_gpu": 16384,
  "actor_rollout_ref.actor.clip_ratio": 0.2,
  "actor_rollout_ref.actor.clip_ratio_c": 3,
  "actor_rollout_ref.actor.loss_agg_mode": "token-mean",
  "actor_rollout_ref.actor.entropy_coeff": 0,
  "actor_rollout_ref.actor.calculate_sum_pi_squared": false,
  "actor_rollout_ref.actor.use_kl_loss": false,
  "actor_rollout_ref.actor.kl_loss_coef": 0.001,
  "actor_rollout_ref.actor.kl_loss_type": "low_var_kl",
  "actor_rollout_ref.actor.use_invalid_action_penalty": true,
  "actor_rollout_ref.actor.invalid_action_penalty_coef": 0.1,
  "actor_rollout_ref.actor.ppo_epochs": 1,
  "actor_rollout_ref.actor.shuffle": false,
  "actor_rollout_ref.actor.grad_clip": 1,
  "actor_rollout_ref.actor.policy_loss.loss_mode": "vanilla",
  "actor_rollout_ref.actor.policy_loss.clip_cov_ratio": 0.0002,
  "actor_rollout_ref.actor.policy_loss.clip_cov_lb": 1,
  "actor_rollout_ref.actor.policy_loss.clip_cov_ub": 5,
  "actor_rollout_ref.actor.policy_loss.kl_cov_ratio": 0.0002,
  "actor_rollout_ref.actor.policy_loss.ppo_kl_coef": 0.1,
  "actor_rollout_ref.actor.optim.lr": 1e-6,
  "actor_rollout_ref.actor.optim.weight_decay": 0.01,
  "actor_rollout_ref.actor.optim.betas": [0.9, 0.999],
  "actor_rollout_ref.rollout.temperature": 1,
  "actor_rollout_ref.rollout.top_k": -1,
  "actor_rollout_ref.rollout.top_p": 1,
  "actor_rollout_ref.rollout.max_num_batched_tokens": 8192,
  "actor_rollout_ref.rollout.val_kwargs.temperature": 0,
  "actor_rollout_ref.rollout.val_kwargs.do_sample": false,
  "actor_rollout_ref.rollout.val_kwargs.n": 1,
  "data.max_prompt_length": 512,
  "data.max_response_length": 512,
  "data.train_batch_size": 1024,
  "data.val_batch_size": null,
  "data.shuffle": true,
  "critic.cliprange_value": 0.5,
  "critic.grad_clip": 1,
  "critic.optim.lr": 1e-5,
  "critic.optim.weight_decay": 0.01,
  "critic.model.enable_gradient_checkpointing": true,
  "algorithm.adv_estimator": "gae",
  "algorithm.lam": 1,
  "algorithm.norm_adv_by_std_in_grpo": true,
  "algorithm.use_kl_in_reward": false,
  "algorithm.kl_penalty": "kl",
  "algorithm.kl_ctrl.type": "fixed",
  "algorithm.kl_ctrl.kl_coef": 0.001,
  "algorithm.kl_ctrl.horizon": 10000,
  "algorithm.kl_ctrl.target_kl": 0.1,
  "algorithm.use_pf_ppo": false,
  "algorithm.pf_ppo.reweight_method": "pow",
  "algorithm.pf_ppo.weight_pow": 2,
  "algorithm.filter_groups.enable": false,
  "algorithm.filter_groups.max_num_gen_batches": 0,
  "algorithm.rollout_correction.rollout_is_threshold": 2,
  "algorithm.rollout_correction.bypass_mode": false,
  "algorithm.gigpo.step_advantage_w": 1,
  "algorithm.gigpo.mode": "mean_norm",
  "algorithm.gigpo.enable_similarity": false,
  "algorithm.gigpo.similarity_thresh": 0.95,
  "env.env_name": "alfworld/AlfredTWEnv",
  "env.seed": 0,
  "env.history_length": 2,
  "trainer.total_epochs": 30,
  "trainer.total_training_steps": null,
  "trainer.project_name": "verl_examples",
  "trainer.experiment_name": "gsm8k",
  "trainer.logger": ["console", "wandb"],
  "trainer.save_freq": -1,
  "trainer.test_freq": -1,
  "trainer.resume_mode": "auto",
  "trainer.val_before_train": true,
  "trainer.val_only": false,
  "trainer.critic_warmup": 0,
  "trainer.max_actor_ckpt_to_keep": null,
  "trainer.device": "cuda",
};

const SHARDS = "not applicable: of PyTorch's own FSDP";
const WHOLE = "not applicable: one process has the whole model";
const ENGINE_OWN = "not applicable: generation has an engine of its own";
const PICTURES = "not applicable: there are no pictures, videos or sounds";
const ENTROPY = "not applicable: entropy never has all logits in memory";
const PADDING = "not applicable: nothing is padded";
const LOADING = "not applicable: tasks come from the world, not from a file";
const PROFILER = "not applicable: timings are in the metrics";
const QUANTIZED =
  "not built: weights are float32, bfloat16 or float16; `rollout.quantization` for generation alone";
const EXPERTS = "not built: no mixture of experts";
const REWARD_MODEL = "not built: no reward model; `reward.judge` and files of your own";
const SEEDED = "not applicable: everything random follows from `trainer.seed`";
const DETERMINED = "not applicable: a run is always deterministic";
const GROUPS = "not applicable: follows from `env.rollout.n`";

/** A name of a setting below which nothing is accepted, or of a setting, and why. */
const missing: Readonly<Record<string, string>> = {
  "actor_rollout_ref.nccl_timeout":
    "not built: our processes wait ten minutes; for servers, rollout.vllm.answer_seconds",
  "actor_rollout_ref.model.hf_config_path": "not applicable: config.json lies beside the weights",
  "actor_rollout_ref.model.tokenizer_path": "not applicable: the tokenizer lies beside the weights",
  "actor_rollout_ref.model.custom_chat_template":
    "not built: the folder's own template (chat_template.jinja) is read; change it there",
  "actor_rollout_ref.model.enable_activation_offload": "not built",
  "actor_rollout_ref.model.exclude_modules": "not built: name the wanted ones in `target_modules`",
  "actor_rollout_ref.model.lora_adapter_path":
    "not built: a run begins with a new adapter; merge an old one into its model first",
  "actor_rollout_ref.model.use_liger": "not applicable: our own kernels are used",
  "actor_rollout_ref.model.fused_kernel_options": "not applicable: our own kernels are used",
  "actor_rollout_ref.model.tiled_mlp":
    "not applicable: the feed-forward block is computed in pieces anyway",
  "actor_rollout_ref.model.mtp": "not built: no multi-token prediction",
  "actor_rollout_ref.model.lora":
    "other name: Megatron's section; use `lora_rank`, `lora_alpha`, `lora_dropout`",
  "actor_rollout_ref.actor.rollout_n": GROUPS,
  "actor_rollout_ref.actor.tau_pos": "not built as a setting: `sapo` uses verl's default 1",
  "actor_rollout_ref.actor.tau_neg": "not built as a setting: `sapo` uses verl's default 1.05",
  "actor_rollout_ref.actor.freeze_vision_tower": PICTURES,
  "actor_rollout_ref.actor.calculate_entropy": "not applicable: entropy is always in the metrics",
  "actor_rollout_ref.actor.data_loader_seed": SEEDED,
  "actor_rollout_ref.actor.use_fused_kernels": "not applicable: our own kernels are always used",
  "actor_rollout_ref.actor.profiler": PROFILER,
  "actor_rollout_ref.actor.router_replay": EXPERTS,
  "actor_rollout_ref.actor.qat": QUANTIZED,
  "actor_rollout_ref.actor.entropy_from_logits_with_chunking": ENTROPY,
  "actor_rollout_ref.actor.entropy_from_logits_chunk_size": ENTROPY,
  "actor_rollout_ref.actor.entropy_checkpointing": ENTROPY,
  "actor_rollout_ref.actor.pad_to_length": PADDING,
  "actor_rollout_ref.actor.use_remove_padding": PADDING,
  "actor_rollout_ref.actor.policy_loss.dro_beta": "not built: no such loss",
  ...Object.fromEntries(
    ["actor_rollout_ref.actor.optim", "critic.optim"].flatMap((section) => [
      [`${section}.optimizer`, "not built: AdamW only"],
      [`${section}.optimizer_impl`, "not built: AdamW only"],
      [`${section}.override_optimizer_config`, "not built: AdamW only"],
      [`${section}.clip_grad`, "other name: `grad_clip` of actor and critic"],
      [`${section}.zero_indexed_step`, "not built: schedules go by iterations"],
    ]),
  ),
  ...Object.fromEntries(
    ["actor_rollout_ref.actor.fsdp_config", "actor_rollout_ref.ref.fsdp_config"].flatMap(
      (section) => [
        ...names(section, "offload_policy use_orig_params turbo_config forward_only").map((key) => [
          key,
          SHARDS,
        ]),
        [`${section}.ulysses_sequence_parallel_size`, "not built: sequences are not split"],
        [`${section}.strategy`, "other name: `strategy` of actor, ref and critic"],
        ...names(section, "seed full_determinism").map((key) => [key, DETERMINED]),
        ...names(
          section,
          "entropy_from_logits_with_chunking entropy_from_logits_chunk_size entropy_checkpointing",
        ).map((key) => [key, ENTROPY]),
        ...names(section, "pad_to_length pad_to_length_bucket").map((key) => [key, PADDING]),
        [`${section}.use_torch_compile`, "not applicable: there is no compiler here"],
        [
          `${section}.use_no_sync_for_gradient_accumulation`,
          "not applicable: sharded gradients are reduced in every pass, whole ones once per update",
        ],
        [`${section}.dtype`, "other name: `actor.autocast`"],
        [`${section}.qat`, QUANTIZED],
      ],
    ),
  ),
  "actor_rollout_ref.ref.rollout_n": GROUPS,
  "actor_rollout_ref.ref.use_torch_compile": "not applicable: there is no compiler here",
  "actor_rollout_ref.ref.profiler": PROFILER,
  "actor_rollout_ref.ref.router_replay": EXPERTS,
  "actor_rollout_ref.ref.ulysses_sequence_parallel_size": "not built: sequences are not split",
  "actor_rollout_ref.ref.entropy_from_logits_with_chunking": ENTROPY,
  "actor_rollout_ref.ref.entropy_from_logits_chunk_size": ENTROPY,
  "actor_rollout_ref.ref.entropy_checkpointing": ENTROPY,
  "actor_rollout_ref.ref.pad_to_length": PADDING,
  "actor_rollout_ref.rollout.nnodes": WHOLE,
  "actor_rollout_ref.rollout.n_gpus_per_node": WHOLE,
  "actor_rollout_ref.rollout.full_determinism": DETERMINED,
  "actor_rollout_ref.rollout.seed": SEEDED,
  "actor_rollout_ref.rollout.cudagraph_capture_sizes": ENGINE_OWN,
  "actor_rollout_ref.rollout.expert_parallel_size": EXPERTS,
  "actor_rollout_ref.rollout.pipeline_model_parallel_size": WHOLE,
  "actor_rollout_ref.rollout.enable_prefix_caching":
    "not applicable: equal beginnings always share their cache",
  "actor_rollout_ref.rollout.logprobs_mode": "not applicable: both log-probabilities are recorded",
  "actor_rollout_ref.rollout.scheduling_policy": ENGINE_OWN,
  "actor_rollout_ref.rollout.layered_summon": WHOLE,
  "actor_rollout_ref.rollout.over_sample_rate": "other name: `env.rollout.oversample`, in groups",
  "actor_rollout_ref.rollout.multi_stage_wake_up": ENGINE_OWN,
  "actor_rollout_ref.rollout.calculate_log_probs": "not applicable: they are always recorded",
  "actor_rollout_ref.rollout.agent":
    "other name: `env.format`, `env.context`, `env.history`, `env.tools`",
  "actor_rollout_ref.rollout.checkpoint_engine":
    "not applicable: generation uses the actor's own weights",
  "actor_rollout_ref.rollout.trace": "not applicable: every episode is stored",
  "actor_rollout_ref.rollout.skip_tokenizer_init": ENGINE_OWN,
  "actor_rollout_ref.rollout.enable_rollout_routing_replay": EXPERTS,
  "actor_rollout_ref.rollout.moe_load_balance_metrics_interval": EXPERTS,
  "actor_rollout_ref.rollout.profiler": PROFILER,
  "actor_rollout_ref.rollout.prometheus": "not built: no Prometheus endpoint",
  "actor_rollout_ref.rollout.quantization_config_file": QUANTIZED,
  "actor_rollout_ref.rollout.mtp": "not built: no multi-token prediction",
  "actor_rollout_ref.rollout.qat": QUANTIZED,
  "actor_rollout_ref.rollout.disaggregation": ENGINE_OWN,
  "actor_rollout_ref.rollout.chat_scheduler": ENGINE_OWN,
  "actor_rollout_ref.rollout.use_fire_sampling": "not built",
  "data.tokenizer": "not applicable: the tokenizer lies beside the weights",
  "data.use_shm": LOADING,
  "data.train_max_samples": LOADING,
  "data.val_max_samples": "other name: `data.val_batch_size`",
  "data.gen_batch_size":
    "other name: `data.train_batch_size`; dynamic sampling draws what is missing",
  "data.tool_config_path": "other name: `env.tools`",
  "data.function_tool_path": "other name: `env.tools`",
  "data.return_full_prompt": LOADING,
  "data.image_patch_size": PICTURES,
  "data.validation_shuffle": "not applicable: validation tasks are always the same",
  "data.filter_overlong_prompts_workers": LOADING,
  "data.video_key": PICTURES,
  "data.audio_key": PICTURES,
  "data.trust_remote_code": "not applicable: no code comes from a model folder",
  "data.custom_cls": "other name: a world of your own, `env.env_name=./world.ts`",
  "data.return_multi_modal_inputs": PICTURES,
  "data.apply_chat_template_kwargs": "not built",
  "data.mm_processor_kwargs": PICTURES,
  "data.sampler": "not built: tasks are shuffled, or in order (`data.shuffle`)",
  "data.datagen": "not built",
  "critic.rollout_n": GROUPS,
  "critic.enable": "not applicable: there is a critic where the estimator needs one",
  "critic.forward_max_token_len_per_gpu":
    "other name: `actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu`",
  "critic.data_loader_seed": SEEDED,
  "critic.loss_scale_factor": "other name: the actor's `loss_scale_factor` is used",
  "critic.checkpoint": "not applicable: checkpoints hold everything",
  "critic.profiler": PROFILER,
  "critic.ulysses_sequence_parallel_size": "not built: sequences are not split",
  "critic.fsdp": "other name: `critic.model.fsdp_config`",
  ...Object.fromEntries(
    names(
      "critic.model",
      "lora_rank lora_alpha target_modules exclude_modules lora_adapter_path lora",
    ).map((key) => [key, "not built: all weights of the critic are trained"]),
  ),
  "critic.model.hf_config_path": "not applicable: config.json lies beside the weights",
  "critic.model.use_shm": "not applicable: weights are memory-mapped",
  "critic.model.custom_chat_template": "not applicable: the actor's tokenizer is used",
  "critic.model.override_config": "not applicable: config.json is read as it is",
  "critic.model.enable_activation_offload": "not built",
  "critic.model.use_liger": "not applicable: our own kernels are used",
  "critic.model.use_fused_kernels": "not applicable: our own kernels are always used",
  "critic.model.fused_kernel_options": "not applicable: our own kernels are used",
  "critic.model.tiled_mlp": "not applicable: the feed-forward block is computed in pieces anyway",
  "critic.model.mtp": "not built: no multi-token prediction",
  "algorithm.filter_groups.max_inflight_gen_batches": "not applicable: one rollout at a time",
  "algorithm.filter_groups.filter_function": "not built: `metric` says what is compared",
  "algorithm.filter_groups.filter_kwargs": "not built: `metric` says what is compared",
  "algorithm.rollout_correction.loss_type":
    "other name: `loss_mode=gpg` with `rollout_is` is the `reinforce` of bypass mode",
  "algorithm.rollout_correction.rollout_is_batch_normalize": "not built as a setting",
  "algorithm.rollout_correction.debug_rollout_actor_probs":
    "not applicable: the comparison is always made, and is in the metrics",
  "env.search": "not built: verl-agent's search world; the world `tools` has a search",
  "env.sokoban": "not built: verl-agent's Sokoban world",
  "reward_model.num_workers": REWARD_MODEL,
  "reward_model.enable_resource_pool": REWARD_MODEL,
  "reward_model.n_gpus_per_node": REWARD_MODEL,
  "reward_model.nnodes": REWARD_MODEL,
  "reward_model.reward_loop_source": REWARD_MODEL,
  "reward_model.reward_loop_module_path": REWARD_MODEL,
  "reward_model.reward_loop_class_name": REWARD_MODEL,
  "reward_model.model": REWARD_MODEL,
  "reward_model.rollout": REWARD_MODEL,
  "reward_model.strategy": REWARD_MODEL,
  "reward_model.micro_batch_size": REWARD_MODEL,
  "reward_model.micro_batch_size_per_gpu": REWARD_MODEL,
  "reward_model.max_length": REWARD_MODEL,
  "reward_model.use_dynamic_bsz": REWARD_MODEL,
  "reward_model.forward_max_token_len_per_gpu": REWARD_MODEL,
  "reward_model.ulysses_sequence_parallel_size": REWARD_MODEL,
  "reward_model.launch_reward_fn_async":
    "not applicable: reward components may be async, all run at once",
  "reward_model.sandbox_fusion":
    "not applicable: a reward component of your own can ask any server",
  "reward_model.profiler": PROFILER,
  "reward.num_workers": "not applicable: reward components may be async, all run at once",
  "reward.custom_reward_function": "other name: `reward.files`, or `custom_reward_function.path`",
  "reward.reward_manager": "other name: the weights of `reward.*`",
  "reward.reward_model": REWARD_MODEL,
  "reward.sandbox_fusion": "not applicable: a reward component of your own can ask any server",
  "trainer.esi_redundant_time": "not built: `trainer.max_minutes` ends a run with a checkpoint",
  "trainer.use_v1": "not applicable: verl's choice between two trainers of its own",
  "trainer.v1": "not built: rollout and updates take turns; none runs ahead of the other",
  ray_kwargs: "not applicable: there is no Ray (`ray_init` is accepted)",
  sandbox_fusion: "not applicable: a reward component of your own can ask any server",
  distillation: "not built: no teacher model",
  transfer_queue: "not applicable: everything is in one process",
  skip: "not built: no replay of stored rollouts",
};

/** Values that verl writes or takes and that are refused here although the setting works. */
const values: Readonly<Record<string, string>> = {
  "reward_model.enable=True": REWARD_MODEL,
  "algorithm.filter_groups.metric=acc": "here: reward, score or success",
};

export const VERL: VerlFacts = { keys, defaults, missing, values };
