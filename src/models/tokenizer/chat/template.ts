/**
 * @file Chat templates: a list of messages as the one text that a model was trained to read.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ModelFileError, messageOf } from "../../checkpoint/errors.ts";
import { isJsonObject, readJsonObject, readText } from "../../checkpoint/json.ts";
import { BoundedInterpreter } from "./bounded-interpreter.ts";
import { MOST_ITEMS, TemplateLimitError } from "./bounded-values.ts";
import { TOKENIZER_CONFIG_FILE } from "../files.ts";
import { formatTime } from "./format-time.ts";
import { Environment, type Node, parse, type Scope, tokenize } from "./jinja.ts";

export type Role = "system" | "user" | "assistant" | "tool";

/** One message. Some templates look at more keys: `name`, `tool_calls`, `reasoning_content`. */
export interface ChatMessage {
  readonly role: Role;
  readonly content: string;
  readonly [key: string]: unknown;
}

export interface RenderOptions {
  /** Descriptions of functions, as JSON Schema, for templates that show them. */
  tools?: readonly unknown[];
  /** Ends the text where the assistant is to begin. Default: false. */
  addGenerationPrompt?: boolean;
  /** More variables of the template: `{ enable_thinking: false }`. */
  variables?: Readonly<Record<string, unknown>>;
  /**
   * The time for templates that write a date. Without it they see none and write their fixed one, or if
   * they have none the first day of 2025: a run must not depend on the day it was started.
   */
  now?: Date;
}

/** Characters; published ones have up to twenty thousand. */
const LONGEST_SOURCE = 1_000_000;

/** What templates see that ask for the time without looking whether there is one (SmolLM3's). */
const SOME_DAY = new Date("2025-01-01T00:00:00Z");
const LOOKS_FIRST = /strftime_now\s+is\s+(?:not\s+)?defined/;

export const TEMPLATE_FILE = "chat_template.jinja";

/** A chat template that can be rendered. */
export interface ChatTemplate {
  /** Where it came from, for messages. */
  readonly file: string;
  readonly source: string;
  render(messages: readonly ChatMessage[], options?: RenderOptions): string;
}

/** The chat template of a model folder: chat_template.jinja, or that of tokenizer_config.json. */
export function loadChatTemplate(folder: string): ChatTemplate {
  const file = join(folder, TEMPLATE_FILE);
  const config = readJsonObject(join(folder, TOKENIZER_CONFIG_FILE));
  const tokens = namedTokens(config);
  if (existsSync(file)) return compileTemplate(readText(file), file, tokens);
  const source = templateIn(config.chat_template);
  if (source === undefined)
    throw new ModelFileError(
      folder,
      `has no chat template (neither ${TEMPLATE_FILE} nor chat_template in ${TOKENIZER_CONFIG_FILE})`,
    );
  return compileTemplate(source, join(folder, TOKENIZER_CONFIG_FILE), tokens);
}

/** One template, or several with names, of which "default" is for chats. */
function templateIn(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) return undefined;
  const entry: unknown = value.find((item) => isJsonObject(item) && item.name === "default");
  return isJsonObject(entry) && typeof entry.template === "string" ? entry.template : undefined;
}

/** bos_token and the like, which templates write out. */
function namedTokens(config: Readonly<Record<string, unknown>>): Record<string, string> {
  const tokens = Object.entries(config)
    .filter(([key]) => /^[a-z]+_token$/.test(key))
    .map(([key, value]) => [key, isJsonObject(value) ? value.content : value]);
  return Object.fromEntries(tokens.filter(([, value]) => typeof value === "string"));
}

/** Makes a template of Jinja source; `tokens` are variables for every rendering. */
export function compileTemplate(
  source: string,
  file = "chat template",
  tokens: Readonly<Record<string, string>> = {},
): ChatTemplate {
  if (source.length > LONGEST_SOURCE)
    throw new ModelFileError(
      file,
      `the chat template has ${source.length} characters, expected at most ${LONGEST_SOURCE}`,
    );
  let program: Node;
  try {
    program = parse(tokenize(source, { lstrip_blocks: true, trim_blocks: true }));
  } catch (error) {
    throw new ModelFileError(file, `the chat template is not valid Jinja: ${messageOf(error)}`, {
      cause: error,
    });
  }
  const day = LOOKS_FIRST.test(source) ? undefined : SOME_DAY;
  const render = (messages: readonly ChatMessage[], options: RenderOptions = {}): string => {
    const environment = globals(options.now ?? day);
    const { tools, addGenerationPrompt = false, variables = {} } = options;
    const given = {
      ...tokens,
      ...variables,
      messages,
      tools: tools ?? null,
      add_generation_prompt: addGenerationPrompt,
    };
    try {
      for (const [name, value] of Object.entries(given)) environment.set(name, value);
      return String(new BoundedInterpreter(environment).run(program).value);
    } catch (error) {
      if (error instanceof TemplateLimitError || error instanceof RangeError)
        throw new ModelFileError(file, `the chat template ${limitIn(error)}`, { cause: error });
      throw new ModelFileError(
        file,
        `the chat template refuses ${describe(messages)}: ${messageOf(error)}`,
        { cause: error },
      );
    }
  };
  return { file, source, render };
}

/** Real ones end after some hundred steps per message; what does not, is broken or hostile. */
function limitIn(error: Error): string {
  // The stack, or the longest text of the machine: limits of their own.
  const excess = error instanceof TemplateLimitError ? error.message : "nests too deeply";
  return `${excess}; it is not rendered. Use the template of the model's publisher`;
}

function describe(messages: readonly ChatMessage[]): string {
  const roles = messages.map(({ role }) => role);
  const shown = roles.length > 8 ? [...roles.slice(0, 3), "…", ...roles.slice(-3)] : roles;
  return `the messages [${shown.join(", ")}]`;
}

/** What transformers gives every template. */
function globals(now: Date | undefined): Scope {
  const environment = new Environment();
  const constants = { true: true, false: false, none: null };
  for (const [name, value] of Object.entries(constants)) {
    environment.set(name, value);
    environment.set(name[0]!.toUpperCase() + name.slice(1), value);
  }
  environment.set("raise_exception", (message: unknown) => {
    throw new Error(String(message));
  });
  environment.set("range", range);
  if (now !== undefined) environment.set("strftime_now", (form: string) => formatTime(now, form));
  return environment;
}

/** Python's range. */
function range(first: number, end?: number, step = 1): number[] {
  const [from, to] = end === undefined ? [0, first] : [first, end];
  if (step === 0) throw new Error("range: the step must not be 0");
  const count = Math.max(0, Math.ceil((to - from) / step));
  // Before it is made. (Not a number: neither is it counted.)
  if (!(count <= MOST_ITEMS))
    throw new TemplateLimitError(`makes a list of more than ${MOST_ITEMS} items`);
  return Array.from({ length: count }, (_, i) => from + i * step);
}
