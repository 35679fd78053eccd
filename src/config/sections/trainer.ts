/**
 * @file `trainer.*`: how long, how often, where to.
 */
import { z } from "zod";
import { count, countOrZero, inert, positive, section, setting } from "../setting.ts";

export const trainer = section({
  total_epochs: setting(
    count.default(1),
    "Iterations, as in verl-agent, whose every epoch is one: trainer.total_training_steps wins over it.",
  ),
  total_training_steps: setting(count.nullable().default(null), "Iterations."),
  seed: setting(z.int().nonnegative().default(0), "Everything random follows from it."),
  test_freq: setting(z.int().min(-1).default(5), "Validate every so many iterations; -1: never."),
  save_freq: setting(
    z.int().min(-1).default(10),
    "Save every so many iterations; -1: only at the end.",
  ),
  val_before_train: setting(z.boolean().default(true), "Validate before the first iteration."),
  val_only: setting(z.boolean().default(false), "Only validate."),
  critic_warmup: setting(countOrZero.default(0), "Iterations in which only the critic is trained."),
  project_name: setting(z.string().default("openmanus-rl"), "Part of the run folder's name."),
  experiment_name: setting(z.string().default("run"), "Part of the run folder's name."),
  default_local_dir: setting(
    z.string().optional(),
    "The run's folder; runs/PROJECT/EXPERIMENT unless said.",
  ),
  resume_mode: setting(
    z.enum(["auto", "disable", "resume_path"]).default("auto"),
    "auto: goes on from the last checkpoint of the run's folder, if there is one.",
  ),
  resume_from_path: setting(
    z.string().nullable().default(null),
    "The checkpoint's folder, for resume_path.",
  ),
  max_actor_ckpt_to_keep: setting(
    count.nullable().default(2),
    "Checkpoints that are kept besides the best; null: all.",
  ),
  max_critic_ckpt_to_keep: inert(z.unknown().optional(), "actor and critic are saved together"),
  logger: setting(
    z.union([z.string(), z.array(z.string())]).default(["console"]),
    "console, tensorboard, mlflow (MLFLOW_TRACKING_URI), or files of one's own that export a logger; metrics.jsonl and the report are always written. (wandb and others: accepted, not offered.)",
  ),
  logprob_tolerance: setting(
    positive.default(1e-3),
    "The rollout's and the trainer's log-probabilities of a token may differ so much; more stops the run.",
  ),
  max_kl: setting(
    positive.default(10),
    "An update whose KL to the policy before it is larger raises an alarm.",
  ),
  min_entropy: setting(
    z.number().min(0).default(0.001),
    "A policy whose entropy falls below it has collapsed: an alarm.",
  ),
  max_bad_updates: setting(
    count.default(5),
    "Updates in a row with a loss or gradient that is not finite before the run stops.",
  ),
  target_success: setting(
    z.number().gt(0).max(1).nullable().default(null),
    "Stop when validation's success rate reaches it.",
  ),
  max_minutes: setting(
    positive.nullable().default(null),
    "Stop after so many minutes, with a checkpoint.",
  ),
  max_memory_gb: setting(
    positive.nullable().default(null),
    "Stop, with a checkpoint, when the process holds more.",
  ),
  threads: setting(
    count.nullable().default(null),
    "Threads of the tensor library; as many as there are cores unless said.",
  ),
  keep_trajectories: setting(
    z.boolean().default(true),
    "Whether every episode is stored in the run's folder.",
  ),
  n_gpus_per_node: inert(
    countOrZero.default(0),
    "one process has one device (trainer.device); start one process per GPU with torchrun's variables",
  ),
  nnodes: inert(
    count.default(1),
    "start one process per machine with torchrun's variables (RANK, WORLD_SIZE …) instead",
  ),
  device: setting(z.string().default("cpu"), "Where tensors are: cpu, cuda, cuda:1."),
  balance_batch: inert(z.boolean().default(true), "micro-batches are packed by token budget"),
  log_val_generations: inert(z.unknown().optional(), "validation episodes are stored"),
  rollout_data_dir: inert(z.unknown().optional(), "episodes are stored in the run's folder"),
  validation_data_dir: inert(z.unknown().optional(), "episodes are stored in the run's folder"),
  ray_wait_register_center_timeout: inert(z.unknown().optional(), "there is no Ray"),
  del_local_ckpt_after_load: inert(z.boolean().default(false), "checkpoints are kept"),
  default_hdfs_dir: inert(z.string().nullable().default(null), "there is no HDFS"),
});
