/**
 * @file A model's weights as an agent that acts: the engine that draws its tokens, and policies over it.
 * Training and evaluation both begin here, so that a model is played as it was trained.
 */
import type { Agent } from "../agents/index.ts";
import type { Config } from "../config/index.ts";
import { createEngine, type Engine, type SamplingOptions } from "../generation/index.ts";
import type { Chat, Model } from "../models/index.ts";
import { modelPolicy, type Policy } from "../rollout/index.ts";
import { summarizerOf } from "./asking.ts";
import { agentOf } from "./setting.ts";

/** How tokens are drawn, in the configuration's words. */
export interface Drawing {
  readonly temperature: number;
  /** -1: all. */
  readonly top_k: number;
  readonly top_p: number;
}

export const GREEDY: Drawing = { temperature: 0, top_k: -1, top_p: 1 };

export interface ModelAgent {
  readonly engine: Engine;
  readonly agent: Agent;
  policy(drawing: Drawing): Policy;
}

/** The engine is the caller's to close, and the model stays the caller's. */
export function createModelAgent(config: Config, model: Model, chat: Chat): ModelAgent {
  const { rollout } = config.actor_rollout_ref;
  const engine = createEngine(model, {
    cacheBytes: rollout.cache_bytes,
    tokensPerStep: rollout.max_num_batched_tokens,
    tokenizer: chat.tokenizer,
  });
  const { maximumPositions: contextLength } = model.config;
  const agent = agentOf(config, summarizerOf(config, { generator: engine, chat, contextLength }));
  return {
    engine,
    agent,
    policy: (drawing) =>
      modelPolicy({
        generator: engine,
        chat,
        contextLength,
        sampling: samplingOf(drawing, config.data.max_response_length),
        ...(rollout.constrain && { constrain: agent.format }),
      }),
  };
}

/** How validation draws: by actor_rollout_ref.rollout.val_kwargs. */
export function validationDrawing({ actor_rollout_ref: { rollout } }: Config): Drawing {
  const { do_sample, temperature, top_k, top_p } = rollout.val_kwargs;
  return { temperature: do_sample ? temperature : 0, top_k, top_p };
}

function samplingOf(
  { temperature, top_k, top_p }: Drawing,
  maximumTokens: number,
): SamplingOptions {
  return { maximumTokens, temperature, topK: Math.max(0, top_k), topP: top_p };
}
