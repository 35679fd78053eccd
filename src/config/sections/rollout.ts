/**
 * @file `actor_rollout_ref.rollout.*`: who plays, and how replies are drawn.
 */
import { z } from "zod";
import { QUANTIZATIONS } from "../../generation/index.ts";
import { secretReference } from "../secrets.ts";
import {
  count,
  inert,
  notNegative,
  positive,
  secret,
  section,
  setting,
  share,
} from "../setting.ts";

const PACKED = "sequences are packed by token budget, never padded";

export const logprobBatches = {
  log_prob_micro_batch_size: inert(count.nullable().default(null), PACKED),
  log_prob_micro_batch_size_per_gpu: inert(count.nullable().default(null), PACKED),
  log_prob_use_dynamic_bsz: inert(z.boolean().default(true), "it is always so"),
  log_prob_max_token_len_per_gpu: setting(
    count.optional(),
    "Tokens of one pass when only log-probabilities are computed. Default: the actor's number.",
  ),
};

/** What verl has no names for. */
const vllm = section({
  executable: setting(
    z.string().optional(),
    "vLLM's program `vllm`, or the folder of the virtual environment that has it. Default: $OPENMANUS_VLLM, then the PATH.",
  ),
  urls: setting(
    z.array(z.string()).default([]),
    "Servers that somebody else has started, with VLLM_SERVER_DEV_MODE=1 and --served-model-name policy: [http://127.0.0.1:8000]. They must see the folder of the weights. Empty: they are started here.",
  ),
  api_key: secret(
    secretReference().optional(),
    "Where their key is: env:NAME (a variable) or file:PATH (a file's first line).",
  ),
  weights: setting(
    z.enum(["files", "nccl"]).default("files"),
    'How servers get new weights: files, which they read; or nccl, from the trainer\'s GPU to theirs. Servers then have GPUs of their own, behind those of the trainer; given ones must be started with --weight-transfer-config \'{"backend":"nccl"}\'.',
  ),
  weights_folder: setting(
    z.string().optional(),
    "Where weights are handed over, a folder per update. Default: memory (/dev/shm) where there is room for two, else the run's folder.",
  ),
  sync_tolerance: setting(
    positive.optional(),
    "How far a server's log-probabilities of the probe may be from ours after every update; more stops the run. Default: 1e-3 in float32, 0.05 in float16, 0.3 in bfloat16.",
  ),
  lora: setting(
    z.enum(["merged", "adapter"]).default("merged"),
    "How servers get a LoRA adapter: merged, in whole weights; or adapter, the adapter alone, a small file per update. Given servers must then be started with --enable-lora, --max-lora-rank and VLLM_ALLOW_RUNTIME_LORA_UPDATING=True.",
  ),
  start_seconds: setting(positive.default(600), "Seconds that a server has to start."),
  answer_seconds: setting(
    positive.max(290).default(290),
    "Seconds that it has for one answer, at most 290.",
  ),
});

export const rollout = section({
  name: setting(
    z.string().default("openmanus"),
    "Who plays: openmanus, the engine in this process; or vllm, servers that are started here (or given, vllm.urls) and get the weights after every update. Where there is no vLLM, and for any other name, it is openmanus, and the run says so.",
  ),
  mode: inert(z.string().default("async"), "episodes are always played independently"),
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
  speculation: setting(
    z.boolean().default(true),
    "Next tokens are guessed by earlier ones, and several checked at once, where that is faster. Episodes are the same, bit for bit.",
  ),
  quantization: setting(
    z.enum(QUANTIZATIONS).nullable().default(null),
    "Generates with a copy of the weights in fewer bytes (bfloat16, int8), made anew after every update: faster where few episodes are played at once. Episodes come from a slightly different distribution, whose log-probabilities are recorded: algorithm.rollout_correction corrects for it. Null: the actor's own weights.",
  ),
  constrain: setting(
    z.boolean().default(false),
    "Only admissible actions can be generated, and what is learned is the distribution among them. To be reported apart from free generation.",
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
  tensor_model_parallel_size: setting(
    count.default(1),
    "With several ranks: so many of them generate together, each with its part of weights and cache, for models of which no machine holds a whole copy. Slow; 1: each by itself. Alone it does not matter. With name=vllm: GPUs of one server (on a CPU: processes).",
  ),
  one_step_off: setting(
    z.boolean().optional(),
    "The episodes of the next iteration are played with the weights of this one: servers and players (players) play while it learns, the engine in the training process before. Needs algorithm.rollout_correction.rollout_is, which corrects for it; training/staleness tells how old they were.",
  ),
  players: setting(
    z.int().min(0).default(0),
    "So many processes of our own engine, each with a copy of the weights, only play; with one_step_off while the next update is learned. Per training process; on the CPU. 0: the training process plays.",
  ),
  data_parallel_size: setting(
    count.default(1),
    "With name=vllm: so many servers, each with all of the weights. A conversation stays with its server.",
  ),
  gpu_memory_utilization: setting(
    share.default(0.5),
    "With name=vllm: the share of a GPU's memory that a server takes (on a CPU, cache_bytes says it).",
  ),
  enforce_eager: setting(
    z.boolean().default(false),
    "With name=vllm: without compiled graphs. On a CPU always: its graphs keep weights from before a reload.",
  ),
  vllm,
  free_cache_engine: inert(
    z.boolean().default(true),
    "servers keep their memory while the actor learns",
  ),
  enable_chunked_prefill: inert(z.boolean().default(true), "prompts are always cut to fit"),
  load_format: inert(z.string().default("auto"), "weights are shared with the actor"),
  dtype: setting(
    z.enum(["float32", "bfloat16", "float16"]).nullable().optional(),
    "With name=vllm: what a server computes with. Default: model.dtype.",
  ),
  max_num_seqs: setting(
    count.default(256),
    "With name=vllm: requests that a server computes at once.",
  ),
  max_model_len: setting(
    count.nullable().optional(),
    "With name=vllm: tokens of a sequence. Default: the model's.",
  ),
  response_length: inert(count.optional(), "data.max_response_length says it"),
  prompt_length: inert(count.optional(), "data.max_prompt_length says it"),
  disable_log_stats: inert(z.boolean().default(true), "metrics.jsonl has the statistics"),
  engine_kwargs: setting(
    z
      .record(z.string(), z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])))
      .optional(),
    "With name=vllm: further options of `vllm serve`, in engine_kwargs.vllm: block_size: 16 is --block-size 16.",
  ),
  multi_turn: inert(z.unknown().optional(), "every episode has as many turns as env.max_steps"),
  ...logprobBatches,
});
