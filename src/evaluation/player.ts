/**
 * @file A trained model, ready to act: for evaluation and play. Nothing is learned here.
 */
import type { Agent } from "../agents/index.ts";
import { type Config, resolveConfig } from "../config/index.ts";
import { createEngine } from "../generation/index.ts";
import { loadChat, loadModel, type Model } from "../models/index.ts";
import { modelPolicy, type Policy } from "../rollout/index.ts";
import { summarizerOf } from "./asking.ts";
import { agentOf, requireModelFolder, settingsOf } from "./setting.ts";

export interface Player {
  readonly policy: Policy;
  readonly agent: Agent;
  readonly model: Model;
  close(): Promise<void>;
}

/** Replies are drawn as validation draws them (actor_rollout_ref.rollout.val_kwargs). */
export function openPlayer(config: Config, path: string): Player {
  const folder = requireModelFolder(path);
  const { model: settings, rollout } = config.actor_rollout_ref;
  const model = loadModel(folder, {
    dtype: settings.dtype,
    device: config.trainer.device as "cpu",
  });
  for (const parameter of model.parameters.values()) parameter.requiresGrad_(false);
  const chat = loadChat(folder);
  const engine = createEngine(model, {
    cacheBytes: rollout.cache_bytes,
    tokensPerStep: rollout.max_num_batched_tokens,
    tokenizer: chat.tokenizer,
  });
  const { val_kwargs: drawing } = rollout;
  const policy = modelPolicy({
    generator: engine,
    chat,
    contextLength: model.config.maximumPositions,
    sampling: {
      maximumTokens: config.data.max_response_length,
      temperature: drawing.do_sample ? drawing.temperature : 0,
      topK: Math.max(0, drawing.top_k),
      topP: drawing.top_p,
    },
    ...(rollout.constrain && { constrain: config.env.format }),
  });
  const { maximumPositions: contextLength } = model.config;
  return {
    policy,
    agent: agentOf(config, summarizerOf(config, { generator: engine, chat, contextLength })),
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
