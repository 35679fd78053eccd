/**
 * @file What a run's folder remembers of its configuration: where it is, and what must be the same when the
 * run goes on.
 */
import { join } from "node:path";
import type { OwnParts } from "./own-parts.ts";
import type { Config } from "./schema.ts";

export function runFolder({ trainer }: Config): string {
  return trainer.default_local_dir ?? join("runs", trainer.project_name, trainer.experiment_name);
}

/** What may differ when a run goes on: how long and how often, not what is trained. */
const MAY_DIFFER = [
  ...["total_epochs", "total_training_steps", "test_freq", "save_freq", "val_before_train"],
  ...["logger", "resume_mode", "resume_from_path", "max_actor_ckpt_to_keep", "target_success"],
  ...["max_minutes", "max_memory_gb", "keep_trajectories", "val_only", "default_local_dir"],
];

/** Keys of servers are never written down: neither into the run's folder nor onto a terminal. */
export function withoutSecrets(config: Config): Config {
  const { env, reward } = config;
  const masked = (key: string | undefined) => (key === undefined ? undefined : "(not stored)");
  return {
    ...config,
    env: { ...env, summary_api_key: masked(env.summary_api_key) },
    reward: { ...reward, judge_api_key: masked(reward.judge_api_key) },
  };
}

export function identityOf(config: Config, own: OwnParts): Readonly<Record<string, unknown>> {
  const { trainer, ...rest } = withoutSecrets(config);
  const names = ownNames(own);
  // As JSON holds it, so that it can be compared with what was read from the folder.
  return JSON.parse(
    JSON.stringify({
      ...rest,
      trainer: Object.fromEntries(
        Object.entries(trainer).filter(([key]) => !MAY_DIFFER.includes(key)),
      ),
      ...(Object.keys(names).length > 0 && { own: names }),
    }),
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
