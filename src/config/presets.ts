/**
 * @file Ready-made configurations: `train --preset NAME`. What they leave open is the schema's default.
 */
import { ConfigError, type Plain } from "./override.ts";

export interface Preset {
  readonly about: string;
  readonly settings: { [key: string]: Plain };
}

/** For small models that were warmed up on expert episodes: the world's own text, short replies. */
const SMALL_MODEL = {
  env: { format: "action", prompts: "bare", show_admissible: false },
  data: { max_prompt_length: 4096, max_response_length: 24 },
};

export const PRESETS: Readonly<Record<string, Preset>> = {
  alfworld: {
    about: "GiGPO in ALFWorld, as in its paper: 16 tasks × 8 episodes, 50 turns",
    settings: {
      algorithm: { adv_estimator: "gigpo", gamma: 0.95, gigpo: { mode: "mean_std_norm" } },
      data: { train_batch_size: 16, val_batch_size: 128, max_prompt_length: 2048 },
      actor_rollout_ref: {
        actor: { use_kl_loss: true, kl_loss_coef: 0.01, use_invalid_action_penalty: true },
      },
      env: { env_name: "alfworld/AlfredTWEnv", max_steps: 50, rollout: { n: 8 } },
      trainer: { total_epochs: 150 },
    },
  },
  webshop: {
    about: "GiGPO in WebShop, as in its paper: 16 tasks × 8 episodes, 15 turns",
    settings: {
      algorithm: { adv_estimator: "gigpo", gamma: 0.95, gigpo: { mode: "mean_norm" } },
      data: { train_batch_size: 16, val_batch_size: 128 },
      actor_rollout_ref: {
        actor: { use_kl_loss: true, kl_loss_coef: 0.01, ppo_mini_batch_size: 64 },
      },
      env: { env_name: "Webshop", max_steps: 15, rollout: { n: 8 } },
      trainer: { total_epochs: 150 },
    },
  },
  "small-model": {
    about: "for a model of a few million parameters that was warmed up with sft, on a CPU",
    settings: {
      ...SMALL_MODEL,
      algorithm: { adv_estimator: "gigpo", gigpo: { mode: "mean_norm" } },
      actor_rollout_ref: {
        actor: { optim: { lr: 3e-4, weight_decay: 0 }, ppo_mini_batch_size: 64 },
      },
    },
  },
};

export function preset(name: string): { [key: string]: Plain } {
  const found = Object.hasOwn(PRESETS, name) ? PRESETS[name] : undefined;
  if (!found)
    throw new ConfigError(
      `there is no preset "${name}"; there are ${Object.keys(PRESETS).join(", ")}`,
    );
  return found.settings;
}
