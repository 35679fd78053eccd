/**
 * @file How a family of models writes calls of functions: one description from which both ways follow, what is
 * written into a prompt and what is read from a reply.
 */
import type { ToolDefinition } from "../../environments/index.ts";

/** A call as it stands in a text, before anybody gives it a name. */
export interface WrittenCall {
  readonly name: string;
  /** JSON. */
  readonly arguments: string;
}

export interface ToolStyle {
  readonly name: string;
  /** What calls stand between; an empty end: the end of the reply. */
  readonly opening: string;
  readonly closing: string;
  /** Whether a reply that is nothing but JSON is a call, too. */
  readonly bare: boolean;
  /** By which a call's arguments are named: Llama's models say "parameters". */
  readonly argumentsKey: "arguments" | "parameters";
  /** Several calls stand in one list between one pair of marks. */
  readonly list: boolean;
  /** What the system's message says of the functions, where the model's template says nothing. */
  instruction(tools: readonly ToolDefinition[]): string;
}

/** Qwen's and Hermes' form, which SmolLM3 and many others have: `<tool_call>{"name": …, "arguments": …}</tool_call>`. */
export const HERMES: ToolStyle = {
  name: "hermes",
  opening: "<tool_call>",
  closing: "</tool_call>",
  bare: false,
  argumentsKey: "arguments",
  list: false,
  instruction: (tools) =>
    [
      "You may call functions. Their signatures:",
      ...tools.map((tool) => JSON.stringify(functionOf(tool))),
      "To call one, write:",
      '<tool_call>{"name": …, "arguments": {…}}</tool_call>',
    ].join("\n"),
};

/** Llama 3's form: the reply is `{"name": …, "parameters": …}`, after <|python_tag|> or without it. */
export const LLAMA: ToolStyle = {
  name: "llama",
  opening: "<|python_tag|>",
  closing: "",
  bare: true,
  argumentsKey: "parameters",
  list: false,
  instruction: (tools) =>
    [
      "You may call functions. Their signatures:",
      ...tools.map((tool) => JSON.stringify(functionOf(tool))),
      'To call one, reply with nothing but {"name": …, "parameters": {…}}.',
    ].join("\n"),
};

/** SmolLM2's form: a list of calls between the same marks. */
export const SMOLLM: ToolStyle = {
  name: "smollm2",
  opening: "<tool_call>",
  closing: "</tool_call>",
  bare: false,
  argumentsKey: "arguments",
  list: true,
  instruction: (tools) =>
    [
      "You have these functions:",
      `<tools>${JSON.stringify(tools.map((tool) => functionOf(tool)))}</tools>`,
      "To call some, write:",
      '<tool_call>[{"name": …, "arguments": {…}}]</tool_call>',
    ].join("\n"),
};

/** As templates expect it. */
export function functionOf({ name, description, parameters }: ToolDefinition) {
  return { type: "function", function: { name, description, parameters } };
}

/** Calls as the model itself would have written them. */
export function writeCalls(style: ToolStyle, calls: readonly WrittenCall[]): string {
  const written = calls.map(
    ({ name, arguments: given }) =>
      `{"name": ${JSON.stringify(name)}, "${style.argumentsKey}": ${objectText(given)}}`,
  );
  const { opening, closing } = style;
  if (style.list) return `${opening}[${written.join(", ")}]${closing}`;
  if (style.bare) return written.join("; ");
  return written.map((one) => `${opening}\n${one}\n${closing}`).join("\n");
}

function objectText(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return JSON.stringify(text);
  }
}

/** The calls in what stands between the marks; undefined: they are none that could be read. */
export function readCalls(text: string): WrittenCall[] | undefined {
  const bare = text.trim().replace(/^```(?:json)?\s*([\s\S]*?)\s*```$/i, "$1");
  if (bare === "") return undefined;
  const value = parsed(bare) ?? separated(bare);
  if (value === undefined) return undefined;
  const calls = (Array.isArray(value) ? value : [value]).map(callIn);
  return calls.length > 0 && calls.every((call) => call !== undefined) ? calls : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Llama's several calls: {…}; {…} */
function separated(text: string): unknown[] | undefined {
  if (!text.startsWith("{")) return undefined;
  const values = text.split(/;\s*(?=\{)/).map(parsed);
  return values.every((value) => value !== undefined) ? values : undefined;
}

function callIn(value: unknown): WrittenCall | undefined {
  if (!isObject(value)) return undefined;
  const inner = isObject(value.function) ? value.function : value;
  const { name } = inner;
  if (typeof name !== "string" || name === "") return undefined;
  const given = inner.arguments ?? inner.parameters ?? {};
  // Some models write the arguments as a text of JSON.
  const object = typeof given === "string" ? parsed(given) : given;
  return isObject(object) ? { name, arguments: JSON.stringify(object) } : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
