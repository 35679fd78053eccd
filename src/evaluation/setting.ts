/**
 * @file What a configuration says about where an agent acts and how: the world, the agent, the limits of
 * an episode. Training, evaluation and play read it in the same way.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  type Agent,
  createAgent,
  FORMAT_NAMES,
  type HistoryOptions,
  PROMPT_SETS,
  type Summarizer,
} from "../agents/index.ts";
import { type Config, ConfigError, type Plain } from "../config/index.ts";
import {
  findWorld,
  openWorld,
  seededRandom,
  type Task,
  type TaskSet,
  type World,
  type WorldDefinition,
} from "../environments/index.ts";
import type { EpisodeLimits, WorldFacts } from "../rollout/index.ts";
import { HELD_OUT, withHeldOut } from "./held-out.ts";

/** A configuration's world, opened. */
export interface ConfiguredWorld {
  readonly world: World;
  readonly about: WorldFacts;
  /** Turns of an episode at most. */
  readonly turns: number;
  readonly trainSplit: string;
  readonly valSplit: string;
}

export async function openConfiguredWorld({ env, data }: Config): Promise<ConfiguredWorld> {
  const definition = await findWorld(env.env_name);
  const given: Record<string, unknown> = { ...env.options };
  if ("seed" in definition.options && given.seed === undefined) given.seed = env.seed;
  const opened = await openWorld(definition, given);
  const [first, second] = opened.splits;
  const trainSplit = env.train_split ?? first!;
  const world = data.held_out > 0 ? withHeldOut(opened, trainSplit, data.held_out) : opened;
  return {
    world,
    about: worldFacts(definition, world),
    turns: env.max_steps ?? definition.maximumSteps,
    trainSplit,
    valSplit: env.val_split ?? (data.held_out > 0 ? HELD_OUT : (second ?? first!)),
  };
}

/** What an agent is told about the world that it acts in. */
export function worldFacts(definition: WorldDefinition, { tools }: World): WorldFacts {
  const { name, summary, briefing = summary } = definition;
  return { name, summary: briefing, tools };
}

/** The agent that a configuration describes. `summarize` is who writes summaries, where it wants them. */
export function agentOf({ env }: Config, summarize?: Summarizer): Agent {
  if (!FORMAT_NAMES.includes(env.format))
    throw new ConfigError(
      `env.format is "${env.format}", expected one of ${FORMAT_NAMES.join(", ")}`,
    );
  return createAgent({
    format: env.format,
    context: env.context,
    showAdmissible: env.show_admissible,
    showInstruction: env.prompts === "full",
    prompts: PROMPT_SETS[env.prompts],
    ...(env.context === "steps" && { history: historyOf(env, summarize) }),
  });
}

function historyOf(env: Config["env"], summarize: Summarizer | undefined): HistoryOptions {
  const length = env.history_length;
  if (env.history === "memory") return { kind: "memory", length };
  if (env.history !== "summary" && !env.use_summary) return { kind: "window", length };
  if (!summarize)
    throw new ConfigError(
      "env.history=summary: there is no model here that could write summaries; say " +
        "env.summary_endpoint=ADDRESS (an OpenAI-compatible server), or use another history",
    );
  return { kind: "summary", summarize, length };
}

export function limitsOf({ env, data }: Config, turns: number): EpisodeLimits {
  return {
    turns,
    promptTokens: data.max_prompt_length,
    tokens: env.rollout.max_tokens,
    parseFailures: env.rollout.max_parse_failures,
    seconds: env.rollout.episode_seconds,
  };
}

/** A fixed choice of so many tasks of a split, the same in every run; null: all. */
export function chosenTasks(tasks: TaskSet, count: number | null): Task[] {
  const all = Array.from({ length: tasks.length }, (_, i) => i);
  const chosen =
    count === null || count >= tasks.length
      ? all
      : seededRandom("validation tasks", tasks.environment, tasks.split)
          .shuffled(all)
          .slice(0, count)
          .sort((a, b) => a - b);
  return chosen.map((index) => tasks.task(index));
}

/** Beside a model's weights: the settings under which it was trained, so that others need not ask. */
export const SETTINGS_FILE = "openmanus-rl.json";

/** What goes into that file: what an agent needs to act as it did. */
export function settingsNote({ env, data }: Config): string {
  const { max_prompt_length, max_response_length, held_out } = data;
  const { history, history_length, use_summary, summary_api_key: _secret, ...rest } = env;
  // In a conversation there is no history to be set, and a configuration that sets one is refused.
  const past = env.context === "steps" ? { history, history_length, use_summary } : {};
  const note = {
    env: { ...rest, ...past },
    data: { max_prompt_length, max_response_length, held_out },
  };
  return `${JSON.stringify(note, null, 1)}\n`;
}

/** The settings that a model folder brings along; nothing where it has none. */
export function settingsOf(folder: string): { [key: string]: Plain } {
  const file = join(folder, SETTINGS_FILE);
  if (!existsSync(file)) return {};
  try {
    return JSON.parse(readFileSync(file, "utf8")) as { [key: string]: Plain };
  } catch (error) {
    throw new ConfigError(`${file}: cannot be read (${(error as Error).message})`);
  }
}

/** Throws, with what to do, unless the folder is a model's. */
export function requireModelFolder(folder: string): string {
  if (folder === "")
    throw new ConfigError(
      "no model: say actor_rollout_ref.model.path=FOLDER (a Hugging Face folder, or a new one: " +
        "openmanus-rl model init)",
    );
  if (existsSync(join(folder, "config.json"))) return folder;
  const onHub = /^[\w.-]+\/[\w.-]+$/.test(folder) && !existsSync(folder);
  throw new ConfigError(
    `there is no model in "${folder}" (no config.json). ` +
      (onHub
        ? `Is it a name on Hugging Face's hub? Fetch it first (huggingface-cli download ${folder} ` +
          `--local-dir models/${folder.split("/")[1]}) and give that folder.`
        : "Give a Hugging Face folder, or make a new model: openmanus-rl model init."),
  );
}
