/**
 * @file A world and who plays in it, from the settings env, data and rollout.
 */
import { type PlayOptions, valueJudge, type WorldOptions } from "../../assembly/index.ts";
import type { ScorerOptions } from "../../rewards/index.ts";
import { type SearchOptions, searchProblem } from "../../rollout/index.ts";
import { ConfigError } from "../override.ts";
import type { FoundParts, OwnParts } from "../own-parts.ts";
import type { Config } from "../schema.ts";
import { secretOf } from "../secrets.ts";
import { deviceOf } from "./device.ts";

export function worldOptions(
  { env, data }: Config,
  { world }: OwnParts,
  { agent, limits }: PlayOptions,
): WorldOptions {
  return {
    world: world ?? env.env_name,
    options: env.options,
    seed: env.seed,
    trainSplit: env.train_split,
    valSplit: env.val_split,
    heldOut: data.held_out,
    turns: env.max_steps,
    openSeconds: env.open_seconds ?? Infinity,
    isolate: {
      processes: env.isolate,
      memory: env.isolate_memory_mb,
      stepSeconds: env.rollout.step_seconds ?? Infinity,
      variables: env.isolate_variables,
    },
    examples:
      env.examples === 0 ? undefined : { from: env.examples, agent, limits, seed: env.seed },
  };
}

export function playOptions(config: Config, parts: FoundParts): PlayOptions {
  const { env, data, trainer, actor_rollout_ref: policy } = config;
  const { rollout } = policy;
  return {
    agent: {
      format: parts.format,
      context: env.context,
      showAdmissible: env.show_admissible,
      showInstruction: env.prompts !== "bare" && env.prompts !== "reminding",
      prompts: parts.prompts,
      ...(parts.tools.length > 0 && { tools: parts.tools }),
      ...(env.context === "steps" && { history: historyOf(env, parts) }),
    },
    limits: {
      promptTokens: data.max_prompt_length,
      tokens: env.rollout.max_tokens,
      parseFailures: env.rollout.max_parse_failures,
      seconds: env.rollout.episode_seconds,
      stepSeconds: env.rollout.step_seconds ?? Infinity,
      observationCharacters: env.max_observation_characters,
    },
    replyTokens: data.max_response_length,
    constrain: rollout.constrain,
    validity: env.validity,
    concurrency: env.rollout.concurrency,
    retries: env.rollout.retries,
    search: searchOptions(env, { dtype: policy.model.dtype, device: deviceOf(trainer.device) }),
    engine: {
      cacheBytes: rollout.cache_bytes,
      tokensPerStep: rollout.max_num_batched_tokens,
      speculation: rollout.speculation,
      quantization: rollout.quantization ?? undefined,
    },
    dtype: policy.model.dtype,
    device: deviceOf(trainer.device),
    evaluation: samplingOf({
      ...rollout.val_kwargs,
      temperature: rollout.val_kwargs.do_sample ? rollout.val_kwargs.temperature : 0,
    }),
    seed: trainer.seed,
  };
}

function searchOptions(
  { search, context }: Config["env"],
  load: Pick<PlayOptions, "dtype" | "device">,
): SearchOptions | undefined {
  const { strategy, judge: name, judge_path: folder, judge_scale: scale, ...rest } = search;
  const { budget_tokens: tokens, budget_states: states, budget_seconds: seconds, ...how } = rest;
  if (strategy === "sample") return undefined;
  const judge =
    name === "reward_model" || name === "critic"
      ? valueJudge({ kind: name, folder: folder!, context, scale, ...(load as ScorerOptions) })
      : name;
  const options = { ...how, strategy, judge, budget: { tokens, states, seconds } };
  const problem = searchProblem(options);
  if (problem) throw new ConfigError(`env.search: ${problem}`);
  return options;
}

function historyOf(env: Config["env"], { history }: FoundParts): PlayOptions["agent"]["history"] {
  const length = env.history_length;
  if (history) return history;
  if (env.history === "memory") return { kind: "memory", length };
  if (env.history !== "summary" && !env.use_summary) return { kind: "window", length };
  return {
    kind: "summary",
    length,
    server:
      env.summary_endpoint === undefined
        ? undefined
        : {
            name: "env.summary_endpoint",
            endpoint: env.summary_endpoint,
            model: env.summary_model,
            key: secretOf("env.summary_api_key", env.summary_api_key),
            concurrency: env.summary_concurrency,
            temperature: 0.1,
          },
  };
}

export function samplingOf(given: { temperature: number; top_k: number; top_p: number }) {
  const { temperature, top_k, top_p } = given;
  return { temperature, topK: Math.max(0, top_k), topP: top_p };
}
