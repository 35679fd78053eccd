/**
 * @file The whole configuration: verl's key names, the documents' sections.
 */
import type { z } from "zod";
import { string, unknown } from "zod";
import { actorRolloutRef, critic } from "./sections/actor-rollout-ref.ts";
import { algorithm } from "./sections/algorithm.ts";
import { data } from "./sections/data.ts";
import { env } from "./sections/env.ts";
import { reward, rewardModel } from "./sections/reward.ts";
import { trainer } from "./sections/trainer.ts";
import { inert, section, setting } from "./setting.ts";

export const configSchema = section({
  algorithm,
  data,
  actor_rollout_ref: actorRolloutRef,
  critic,
  env,
  reward,
  reward_model: rewardModel,
  trainer,
  custom_reward_function: section({
    path: setting(
      string().nullable().default(null),
      "A file of one's own with a reward component; the same as reward.files.",
    ),
    name: inert(string().optional(), "all components that the file exports are used"),
    reward_kwargs: inert(unknown().optional(), "the file is a module: it can read what it likes"),
  }),
  ray_init: inert(unknown().optional(), "there is no Ray"),
  global_profiler: inert(unknown().optional(), "timings are in the metrics"),
});

/** The configuration with every default filled in. */
export type Config = z.output<typeof configSchema>;

/** Any part of the configuration, for programs: what is left out has its default. */
export type Settings = DeepPartial<NonNullable<z.input<typeof configSchema>>>;

/** Every setting optional, all the way down. */
export type DeepPartial<Value> = Value extends readonly unknown[]
  ? Value
  : Value extends object
    ? { readonly [Key in keyof Value]?: DeepPartial<Value[Key]> | undefined }
    : Value;
