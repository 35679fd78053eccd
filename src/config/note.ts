/**
 * @file Beside a model's weights: the settings under which it was trained (openmanus-rl.json), so that
 * whoever plays it need not ask.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ConfigError, isTree, type Plain, type Tree } from "./override.ts";
import type { Config } from "./schema.ts";

export const SETTINGS_FILE = "openmanus-rl.json";

/** What an agent needs to act as it did. */
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
export function settingsOf(folder: string): Tree {
  const file = join(folder, SETTINGS_FILE);
  if (!existsSync(file)) return {};
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Tree;
  } catch (error) {
    throw new ConfigError(`${file}: cannot be read (${(error as Error).message})`);
  }
}

/** What of `env` is the form of prompts and replies, and not the world or the rollout. */
const FORM = [
  ...["format", "context", "prompts", "show_admissible"],
  ...["history", "history_length", "use_summary"],
];

/**
 * The form in which a model has learned to act, without the world it learned in: what training goes on
 * with, where nothing else is asked for.
 */
export function formOf(folder: string): Tree {
  const { env, data } = settingsOf(folder);
  const chosen = (tree: Plain | undefined, names: readonly string[]): Tree =>
    isTree(tree)
      ? Object.fromEntries(Object.entries(tree).filter(([name]) => names.includes(name)))
      : {};
  const form = chosen(env, FORM);
  const lengths = chosen(data, ["max_prompt_length", "max_response_length"]);
  return {
    ...(Object.keys(form).length > 0 && { env: form }),
    ...(Object.keys(lengths).length > 0 && { data: lengths }),
  };
}
