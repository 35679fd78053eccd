/**
 * @file How the configuration cuts an iteration's batch into updates.
 */
import type { Config } from "../config/index.ts";
import type { UpdateOptions } from "./optimize.ts";

export function actorUpdateOptions(config: Config, step: number): UpdateOptions {
  const { actor } = config.actor_rollout_ref;
  return {
    name: "actor",
    step,
    seed: config.trainer.seed,
    miniBatchRows: actor.ppo_mini_batch_size,
    epochs: actor.ppo_epochs,
    shuffle: actor.shuffle,
    tokensPerPass: actor.ppo_max_token_len_per_gpu,
    gradientClip: actor.grad_clip,
  };
}

export function criticUpdateOptions(config: Config, step: number): UpdateOptions {
  const { critic } = config;
  const likeActor = actorUpdateOptions(config, step);
  return {
    ...likeActor,
    name: "critic",
    miniBatchRows: critic.ppo_mini_batch_size ?? likeActor.miniBatchRows,
    epochs: critic.ppo_epochs ?? likeActor.epochs,
    shuffle: critic.shuffle ?? likeActor.shuffle,
    tokensPerPass: critic.ppo_max_token_len_per_gpu ?? likeActor.tokensPerPass,
    gradientClip: critic.grad_clip,
  };
}
