/**
 * @file The quickstart's recipe: what is made, learned, played and trained. Every number that matters is
 * here.
 *
 * The warm start is short on purpose: it teaches the form of actions and a little of the household, and
 * leaves the rest to reinforcement learning.
 */
import { join } from "node:path";
import { type Config, resolveConfig } from "../../config/index.ts";
import type { PresetName } from "../../models/index.ts";

export interface Recipe {
  readonly preset: PresetName;
  /** Tasks whose texts the tokenizer learns from. */
  readonly tokenizerTasks: number;
  readonly vocabulary: number;
  readonly expertEpisodes: number;
  /** The share of turns in which the expert slips: see scriptedPolicy. */
  readonly slips: number;
  /** The share of turns in which it wanders: looks around, instead of getting on with it. */
  readonly wanders: { readonly share: number; allows(action: string): boolean };
  readonly learningRate: number;
  readonly batchSize: number;
  /** Tasks in rooms that training never sees, before and after. */
  readonly evaluationTasks: number;
  readonly iterations: number;
}

export const RECIPE: Recipe = {
  preset: "tiny",
  tokenizerTasks: 300,
  vocabulary: 1024,
  expertEpisodes: 8000,
  slips: 0.05,
  wanders: {
    share: 0.5,
    allows: (action) => /^(go to|look|examine|inventory)/.test(action),
  },
  learningRate: 4e-3,
  batchSize: 4,
  evaluationTasks: 200,
  iterations: 45,
};

export interface QuickstartFolders {
  readonly model: string;
  readonly warm: string;
  readonly run: string;
}

export function quickstartFolders(root: string): QuickstartFolders {
  return {
    model: join(root, "model"),
    warm: join(root, "warm"),
    run: join(root, "run"),
  };
}

/** The settings of all its parts, as a user would write them on a command line. */
export function quickstartSettings(recipe: Recipe, folders: QuickstartFolders): string[] {
  return [
    `actor_rollout_ref.model.path=${folders.warm}`,
    "env.env_name=household",
    "env.options.difficulty=easy",
    "env.options.types=[pick_and_place_simple]",
    "env.options.receptacles=5",
    "env.options.objects=6",
    "env.max_steps=20",
    "env.val_split=valid_unseen",
    "env.rollout.n=8",
    "data.train_batch_size=16",
    "data.max_prompt_length=1000",
    "algorithm.adv_estimator=gigpo",
    "actor_rollout_ref.actor.optim.lr=1e-3",
    "actor_rollout_ref.actor.optim.lr_warmup_steps=10",
    "actor_rollout_ref.actor.optim.betas=[0.9,0.98]",
    "actor_rollout_ref.actor.ppo_mini_batch_size=64",
    "actor_rollout_ref.rollout.val_kwargs.temperature=1",
    `trainer.total_epochs=${recipe.iterations}`,
    "trainer.test_freq=-1",
    "trainer.save_freq=10",
    "trainer.val_before_train=False",
    `trainer.default_local_dir=${folders.run}`,
  ];
}

export function quickstartConfig(settings: readonly string[]): Config {
  return resolveConfig({ preset: "small-model", overrides: settings }).config;
}
