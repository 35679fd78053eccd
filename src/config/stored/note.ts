/**
 * @file Beside a model's weights: the settings under which it was trained (openmanus-rl.json), so that
 * whoever plays it need not ask.
 */
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { isFileName } from "../../environments/index.ts";
import { ConfigError, isTree, type Plain, type Tree } from "../override.ts";
import { withoutSecrets } from "./record.ts";
import type { Config, Settings } from "../schema.ts";

export const SETTINGS_FILE = "openmanus-rl.json";

/** What an agent needs to act as it did. */
export function settingsNote(config: Config): string {
  const { env, data } = withoutSecrets(config);
  const { max_prompt_length, max_response_length, held_out } = data;
  const { history, history_length, use_summary, ...known } = env;
  // Where and how patiently a world runs is the affair of whoever plays.
  const { isolate, isolate_memory_mb, isolate_variables, open_seconds, ...rest } = known;
  // In a conversation there is no history to be set, and a configuration that sets one is refused.
  const past = env.context === "steps" ? { history, history_length, use_summary } : {};
  const note = {
    env: { ...rest, ...past },
    data: { max_prompt_length, max_response_length, held_out },
  };
  return `${JSON.stringify(note, null, 1)}\n`;
}

/**
 * The settings that a model folder brings along; nothing where it has none. A folder may come from anywhere:
 * a program that it brings, or a command that it wants to have started, is refused unless the same setting is
 * among those `given` by whoever uses it.
 */
export function settingsOf(folder: string, given: Settings = {}): Tree {
  const note = noteOf(folder);
  if (isTree(note.env)) requireHarmless(folder, note.env, given);
  return note;
}

function noteOf(folder: string): Tree {
  const file = join(folder, SETTINGS_FILE);
  if (!existsSync(file)) return {};
  let note: Plain;
  try {
    note = JSON.parse(readFileSync(file, "utf8")) as Plain;
  } catch (error) {
    throw new ConfigError(`${file}: cannot be read (${(error as Error).message})`);
  }
  if (!isTree(note)) throw new ConfigError(`${file}: expected settings, as an object`);
  return note;
}

/** Options of worlds that are commands to start. */
const COMMANDS = ["mcp"];

function requireHarmless(folder: string, env: Tree, { env: known = {} }: Settings): void {
  const given = known as Tree;
  const refuse = (setting: string, what: string): never => {
    throw new ConfigError(
      `${join(folder, SETTINGS_FILE)}: ${what}, and is not run on the word of a model's folder. If you trust it, say so yourself: ` +
        `${setting}=…`,
    );
  };
  for (const [name, value] of Object.entries(env))
    for (const word of [value].flat())
      if (typeof word === "string" && given[name] === undefined && isInside(word, folder))
        refuse(`env.${name}`, `${JSON.stringify(word)} is a program in the folder itself`);
  const options = isTree(env.options) ? env.options : {};
  const own = isTree(given.options) ? given.options : {};
  for (const name of COMMANDS)
    for (const word of [options[name] ?? []].flat())
      if (own[name] === undefined && !/^https?:\/\//i.test(String(word)))
        refuse(`env.options.${name}`, `${JSON.stringify(word)} is a command`);
}

function isInside(word: string, folder: string): boolean {
  if (!isFileName(word)) return false;
  const real = (path: string) => (existsSync(path) ? realpathSync(path) : resolve(path));
  return !relative(real(folder), real(word)).startsWith("..");
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
export function formOf(folder: string, given: Settings = {}): Tree {
  const { env, data } = noteOf(folder);
  const chosen = (tree: Plain | undefined, names: readonly string[]): Tree =>
    isTree(tree)
      ? Object.fromEntries(Object.entries(tree).filter(([name]) => names.includes(name)))
      : {};
  const form = chosen(env, FORM);
  requireHarmless(folder, form, given);
  const lengths = chosen(data, ["max_prompt_length", "max_response_length"]);
  return {
    ...(Object.keys(form).length > 0 && { env: form }),
    ...(Object.keys(lengths).length > 0 && { data: lengths }),
  };
}
