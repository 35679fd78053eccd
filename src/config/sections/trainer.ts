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
    "The run's folder. Default: runs/PROJECT/EXPERIMENT.",
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
  sharded_checkpoints: setting(
    z.boolean().default(false),
    "With strategy fsdp and several ranks, for large models: each rank saves its own shards, and nothing is gathered but for the best and the last checkpoint. Any number of ranks goes on from them.",
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
  on_alarm: setting(
    z.enum(["continue", "stop", "rollback"]).default("continue"),
    "What a serious alarm does (docs/monitoring.md lists them). stop: the run ends, with a checkpoint and exit code 1. rollback: it goes on from the best checkpoint, or the last healthy one, with a lower learning rate.",
  ),
  rollback_lr_factor: setting(
    z.number().gt(0).max(1).default(0.5),
    "With on_alarm=rollback: what is left of the learning rates each time.",
  ),
  max_rollbacks: setting(
    count.default(2),
    "With on_alarm=rollback: how often the run goes back; the next serious alarm ends it.",
  ),
  ignore_alarms: setting(
    z.array(z.string()).default([]),
    "Alarms that are not raised, by their names; [all]: none is.",
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
    "Threads of the tensor library. Default: as many as there are cores.",
  ),
  keep_trajectories: setting(
    z.boolean().default(true),
    "Whether every episode is stored in the run's folder.",
  ),
  token_record_groups: setting(
    z.int().min(-1).default(2),
    "Groups of an iteration of which every token is stored with all that the update used and computed of it (advantage, " +
      "ratio, entropy …), for the dashboard. -1: all groups; 0: none.",
  ),
  live_episodes: setting(
    countOrZero.default(1),
    "Episodes of an iteration that can be watched in the dashboard while they are played, token by token; 0: none.",
  ),
  n_gpus_per_node: setting(
    countOrZero.default(0),
    "Processes on each machine, also on CPUs: the command starts them itself where no launcher has. 0: one.",
  ),
  nnodes: setting(
    count.default(1),
    "Machines; each is started with NODE_RANK, MASTER_ADDR and MASTER_PORT, or by a launcher (docs/scale.md).",
  ),
  launcher: setting(
    z.enum(["local", "ray"]).default("local"),
    "Who starts the ranks where no launcher has: this command on this machine, or a Ray cluster.",
  ),
  max_failures: setting(
    countOrZero.default(3),
    "How often a Ray cluster starts the ranks again after one was lost, from the last checkpoint.",
  ),
  ray_address: setting(
    z.string().nullable().default(null),
    "The address of Ray's dashboard, http://HOST:8265. Default: RAY_ADDRESS, or this machine's.",
  ),
  device: setting(
    z.string().default("cpu"),
    "Where tensors are: cpu, cuda, cuda:1. Of several ranks on a machine, cuda is a GPU for each (LOCAL_RANK).",
  ),
  balance_batch: inert(z.boolean().default(true), "micro-batches are packed by token budget"),
  log_val_generations: inert(z.unknown().optional(), "validation episodes are stored"),
  rollout_data_dir: inert(z.unknown().optional(), "episodes are stored in the run's folder"),
  validation_data_dir: inert(z.unknown().optional(), "episodes are stored in the run's folder"),
  ray_wait_register_center_timeout: inert(z.unknown().optional(), "there is no Ray"),
  del_local_ckpt_after_load: inert(z.boolean().default(false), "checkpoints are kept"),
  default_hdfs_dir: inert(z.string().nullable().default(null), "there is no HDFS"),
});
