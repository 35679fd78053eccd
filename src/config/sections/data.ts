/**
 * @file `data.*`: tasks per iteration, and the lengths of prompts and replies.
 */
import { z } from "zod";
import { count, inert, section, setting } from "../setting.ts";
import { curriculum } from "./curriculum.ts";

const FROM_WORLD = "tasks come from the world (env.env_name)";

export const data = section({
  train_batch_size: setting(
    count.default(16),
    "Tasks per iteration: each is a group of env.rollout.n episodes.",
  ),
  val_batch_size: setting(
    count.nullable().default(128),
    "Tasks per validation; null: all of the split.",
  ),
  held_out: setting(
    z.int().nonnegative().default(0),
    "Tasks of the training split that are set aside, always the same: neither train nor sft sees them; " +
      'they are the split "held_out", which validation plays unless env.val_split says another.',
  ),
  max_prompt_length: setting(
    count.default(4096),
    "Tokens of a turn's whole prompt at most; an episode whose next prompt is longer ends (context full).",
  ),
  max_response_length: setting(count.default(512), "Tokens of one reply at most."),
  shuffle: setting(
    z.boolean().default(true),
    "Whether training tasks are shuffled, anew in each pass over them.",
  ),
  seed: setting(z.int().nonnegative().nullish(), "Of that shuffling. Default: trainer.seed."),
  curriculum,
  train_files: inert(z.unknown().optional(), FROM_WORLD),
  val_files: inert(z.unknown().optional(), FROM_WORLD),
  prompt_key: inert(z.string().optional(), FROM_WORLD),
  image_key: inert(z.string().optional(), "there are no pictures"),
  reward_fn_key: inert(z.string().optional(), FROM_WORLD),
  return_raw_chat: inert(z.boolean().default(true), FROM_WORLD),
  return_raw_input_ids: inert(z.boolean().default(false), FROM_WORLD),
  filter_overlong_prompts: inert(
    z.boolean().default(true),
    "an episode whose prompt grows too long ends",
  ),
  truncation: inert(z.string().default("error"), "prompts are never cut; the episode ends"),
  dataloader_num_workers: inert(z.int().optional(), FROM_WORLD),
});
