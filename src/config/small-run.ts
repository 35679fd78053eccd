/**
 * @file The settings of a run so small that it takes seconds, with all that computes: PPO with a critic, a reference and
 * an entropy bonus, in a maze. For the check of a device (library/devices).
 */
import { resolveConfig } from "./resolve.ts";
import type { Config } from "./schema.ts";

export interface SmallRunChoices {
  /** A model's folder. */
  readonly model: string;
  /** The run's folder. */
  readonly folder: string;
  readonly device: string;
  readonly iterations: number;
  /** In which products are computed. Default: the weights' own dtype. */
  readonly autocast?: "bfloat16" | "float16" | undefined;
  /** Whether weights and moments are elsewhere between their uses. Default false. */
  readonly offloaded?: boolean | undefined;
}

/** Where a new model wins nothing there are still gradients: of the entropy, and of the distance to the reference. */
export function smallRunConfig(choices: SmallRunChoices): Config {
  const { model, folder, device, iterations, autocast, offloaded = false } = choices;
  const places = [
    "actor_rollout_ref.actor.fsdp_config.param_offload",
    "actor_rollout_ref.actor.fsdp_config.optimizer_offload",
    "actor_rollout_ref.ref.fsdp_config.param_offload",
    "critic.model.fsdp_config.param_offload",
    "critic.model.fsdp_config.optimizer_offload",
  ];
  const overrides = [
    `actor_rollout_ref.model.path=${model}`,
    "env.env_name=maze",
    "env.prompts=bare",
    "env.max_steps=3",
    "env.rollout.n=4",
    "data.train_batch_size=2",
    "data.max_response_length=6",
    "algorithm.adv_estimator=gae",
    "actor_rollout_ref.actor.ppo_mini_batch_size=4",
    "actor_rollout_ref.actor.use_kl_loss=True",
    "actor_rollout_ref.actor.entropy_coeff=0.05",
    "actor_rollout_ref.actor.optim.lr=1e-3",
    ...(autocast ? [`actor_rollout_ref.actor.autocast=${autocast}`] : []),
    ...places.map((place) => `${place}=${offloaded ? "True" : "False"}`),
    "trainer.val_before_train=False",
    "trainer.test_freq=-1",
    "trainer.logger=[]",
    "trainer.min_entropy=0",
    `trainer.total_training_steps=${iterations}`,
    `trainer.default_local_dir=${folder}`,
    `trainer.device=${device}`,
  ];
  return resolveConfig({ overrides }).config;
}
