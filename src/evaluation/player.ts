/**
 * @file A trained model, ready to act: for evaluation and play. Nothing is learned here.
 */
import type { Agent } from "../agents/index.ts";
import { type Config, resolveConfig } from "../config/index.ts";
import { loadChat, loadModel, type Model } from "../models/index.ts";
import type { Policy } from "../rollout/index.ts";
import { createModelAgent, validationDrawing } from "./model-agent.ts";
import { requireModelFolder, settingsOf } from "./setting.ts";

export interface Player {
  readonly policy: Policy;
  readonly agent: Agent;
  readonly model: Model;
  close(): Promise<void>;
}

/** Replies are drawn as validation draws them (actor_rollout_ref.rollout.val_kwargs). */
export function openPlayer(config: Config, path: string): Player {
  const folder = requireModelFolder(path);
  const model = loadModel(folder, {
    dtype: config.actor_rollout_ref.model.dtype,
    device: config.trainer.device as "cpu",
  });
  for (const parameter of model.parameters.values()) parameter.requiresGrad_(false);
  const { engine, agent, policy } = createModelAgent(config, model, loadChat(folder));
  return {
    policy: policy(validationDrawing(config)),
    agent,
    model,
    async close() {
      await engine.close();
      model.dispose();
    },
  };
}

/** A configuration that begins with what a model folder says about itself. */
export function configForModel(
  folder: string,
  overrides: readonly string[],
  files: readonly string[] = [],
): Config {
  return resolveConfig({ base: settingsOf(folder), files, overrides }).config;
}
