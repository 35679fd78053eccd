/**
 * @file The border: from verl's tree of settings to the options that a run follows. Behind this folder nobody
 * knows verl's names.
 */
import { resolve } from "node:path";
import { stringify } from "yaml";
import type { PlayOptions, WorldOptions } from "../../assembly/index.ts";
import { modelFolderOf } from "../../models/index.ts";
import type { TrainingOptions } from "../../training/index.ts";
import { groupSize, missingGroups, totalIterations } from "../combinations.ts";
import { SETTINGS_FILE, settingsNote } from "../stored/note.ts";
import { ConfigError } from "../override.ts";
import { findParts, type OwnParts } from "../own-parts.ts";
import { comparable, identityOf, runFolder, withoutSecrets } from "../stored/record.ts";
import type { Config } from "../schema.ts";
import { servedOptions } from "../engines/served.ts";
import { changesSince } from "../stored/changes.ts";
import { advantageSettings, curriculumOptions, passOptions, replayOptions } from "./learning.ts";
import { playOptions, samplingOf, worldOptions } from "./play.ts";
import { rewardComponents } from "./rewards.ts";
import { actorOptions, criticOptions, referenceOptions } from "./workers.ts";

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
    reference: referenceOptions(config),
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
