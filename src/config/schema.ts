/**
 * @file The whole configuration: verl's key names, the documents' sections.
 */
import type { z } from "zod";
import { unknown } from "zod";
import { actorRolloutRef, critic } from "./sections/actor-rollout-ref.ts";
import { algorithm } from "./sections/algorithm.ts";
import { data } from "./sections/data.ts";
import { env } from "./sections/env.ts";
import { reward, rewardModel } from "./sections/reward.ts";
import { trainer } from "./sections/trainer.ts";
import { inert, section } from "./setting.ts";

export const configSchema = section({
  algorithm,
  data,
  actor_rollout_ref: actorRolloutRef,
  critic,
  env,
  reward,
  reward_model: rewardModel,
  trainer,
  custom_reward_function: inert(
    unknown().optional(),
    "it names a Python file; rewards of one's own are functions (docs/rewards.md)",
  ),
  ray_init: inert(unknown().optional(), "there is no Ray"),
  global_profiler: inert(unknown().optional(), "timings are in the metrics"),
});

/** The configuration with every default filled in. */
export type Config = z.output<typeof configSchema>;
