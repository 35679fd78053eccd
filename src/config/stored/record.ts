/**
 * @file What a run's folder remembers of its configuration: where it is, and what must be the same when the
 * run goes on.
 */
import { join } from "node:path";
import { withoutCredentials } from "../../spelling/index.ts";
import type { OwnParts } from "../own-parts.ts";
import type { Config } from "../schema.ts";

export function runFolder({ trainer }: Config): string {
  return trainer.default_local_dir ?? join("runs", trainer.project_name, trainer.experiment_name);
}

/** What of `trainer` may differ when a run goes on: how long and how often, not what is trained. */
const OF_TRAINER = [
  ...["total_epochs", "total_training_steps", "test_freq", "save_freq", "val_before_train"],
  ...["logger", "resume_mode", "resume_from_path", "max_actor_ckpt_to_keep", "target_success"],
  ...["sharded_checkpoints", "on_alarm", "rollback_lr_factor", "max_rollbacks", "ignore_alarms"],
  ...["max_minutes", "max_memory_gb", "keep_trajectories", "token_record_groups", "val_only"],
  ...["live_episodes", "default_local_dir"],
  // How many ranks train, and who starts them: the run is the same.
  ...["nnodes", "n_gpus_per_node", "launcher", "max_failures", "ray_address"],
];

/**
 * So may these: how patient a run is with its world, in which process that lives, and what makes a rollout faster
 * and no other.
 */
const OF_OTHERS = [
  ...["speculation", "vllm", "data_parallel_size", "max_num_seqs"].map(
    (name) => `actor_rollout_ref.rollout.${name}`,
  ),
  ...["isolate", "isolate_memory_mb", "isolate_variables", "open_seconds"].map(
    (name) => `env.${name}`,
  ),
  ...["env.max_observation_characters", "env.rollout.step_seconds", "reward.seconds"],
];

const MAY_DIFFER = [...OF_TRAINER.map((name) => `trainer.${name}`), ...OF_OTHERS];

/** Whether a run goes on as the same whatever this setting is. */
export function mayDiffer(path: string): boolean {
  return MAY_DIFFER.some((name) => path === name || path.startsWith(`${name}.`));
}

/** A tree without the settings that may differ. */
function withoutDiffering(value: object, path: readonly string[] = []): object {
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inside]: [string, unknown]) => {
      const place = [...path, key];
      if (mayDiffer(place.join("."))) return [];
      const isTree = typeof inside === "object" && inside !== null && !Array.isArray(inside);
      return [[key, isTree ? withoutDiffering(inside, place) : inside]];
    }),
  );
}

/**
 * The configuration as it may be written down and shown. Settings only say where a key is (secrets.ts); but
 * any address may have a name and a password in it.
 */
export function withoutSecrets(config: Config): Config {
  return hidden(config) as Config;
}

function hidden(value: unknown): unknown {
  if (typeof value === "string") return withoutCredentials(value);
  if (Array.isArray(value)) return value.map(hidden);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inside]) => [key, hidden(inside)]));
}

/**
 * What must be the same on all ranks of a run. Each may have a device of its own, and models under paths of its own:
 * what is in those is compared.
 */
export function ranksSettings(config: Config): unknown {
  const { trainer, actor_rollout_ref: policy, critic, ...rest } = withoutSecrets(config);
  const { device, threads, ...others } = trainer;
  const { path, ...model } = policy.model;
  const { path: ofCritic, ...criticModel } = critic.model;
  return JSON.parse(
    JSON.stringify({
      ...rest,
      trainer: others,
      actor_rollout_ref: { ...policy, model },
      critic: { ...critic, model: criticModel },
    }),
  );
}

/**
 * The whole configuration as it may be compared, with the names of things of one's own; as JSON holds it, so that it can be
 * compared with what was read from a folder.
 */
export function comparable(config: Config, own: OwnParts): Readonly<Record<string, unknown>> {
  const names = ownNames(own);
  return JSON.parse(
    JSON.stringify({
      ...withoutSecrets(config),
      ...(Object.keys(names).length > 0 && { own: names }),
    }),
  ) as Record<string, unknown>;
}

export function identityOf(config: Config, own: OwnParts): Readonly<Record<string, unknown>> {
  const { env, reward, ...rest } = comparable(config, own) as unknown as Config;
  // Where a key lies may change while a run is stopped.
  const masked = (key: string | undefined) => (key === undefined ? undefined : "(not stored)");
  return JSON.parse(
    JSON.stringify(
      withoutDiffering({
        ...rest,
        env: { ...env, summary_api_key: masked(env.summary_api_key) },
        reward: { ...reward, judge_api_key: masked(reward.judge_api_key) },
      }),
    ),
  ) as Record<string, unknown>;
}

/** Functions cannot be compared; their names can. */
function ownNames({ world, tools, rewards }: OwnParts): Record<string, unknown> {
  return {
    ...(world && { world: world.name }),
    ...(tools && tools.length > 0 && { tools: tools.map(({ name }) => name) }),
    ...(rewards &&
      rewards.length > 0 && {
        rewards: rewards.map(({ name, weight }) => `${name} × ${weight}`),
      }),
  };
}
