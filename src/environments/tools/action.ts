/**
 * @file What an action means: a call of a tool, the final answer, or neither.
 *
 * Calls are JSON, `{"name": "calculator", "arguments": {"expression": "1 + 1"}}`, or the two lines
 * `tool: calculator` and `parameters: {"expression": "1 + 1"}`. Either may stand in the tags that
 * models write around them. An answer is a call of "answer", or `<answer>…</answer>`, or
 * `FINAL_ANSWER: …`.
 */
import type { ToolDefinition } from "../environment.ts";
import type { ToolArguments } from "./tool.ts";

export type Action =
  | { readonly kind: "call"; readonly name: string; readonly given: ToolArguments }
  | { readonly kind: "answer"; readonly answer: string }
  | { readonly kind: "nothing"; readonly problem: string };

/** The answer as a tool: what an agent calls when it knows. */
export const ANSWER: ToolDefinition = {
  name: "answer",
  description: "Gives the final answer to the question and ends the task.",
  parameters: {
    type: "object",
    properties: {
      answer: {
        type: "string",
        description: "the answer alone, as short as possible: a number, a name, a few words",
      },
    },
    required: ["answer"],
  },
};

/** Longer actions are not looked at. */
const LONGEST = 200_000;

const HOW =
  'Call a tool with {"name": "…", "arguments": {…}}, or answer with {"name": "answer", "arguments": {"answer": "…"}}.';

export function readAction(text: string): Action {
  if (text.length > LONGEST)
    return nothing(`An action of ${text.length} characters is too long; ${LONGEST} is the most.`);
  const tagged = inTag(text, "answer");
  if (tagged !== undefined) return { kind: "answer", answer: tagged.trim() };
  const whole = text.trim();
  if (/^FINAL_ANSWER:/i.test(whole))
    return { kind: "answer", answer: whole.slice("FINAL_ANSWER:".length).trim() };
  const inner = withoutFence((inTag(text, "tool_call") ?? inTag(text, "action") ?? whole).trim());
  const lines = inLines(inner);
  if (lines) return lines;
  if (!inner.startsWith("{")) return nothing(`That is not a call. ${HOW}`);
  let json: unknown;
  try {
    json = JSON.parse(inner);
  } catch (error) {
    return nothing(`That is not JSON (${(error as Error).message.slice(0, 200)}). ${HOW}`);
  }
  return fromJson(json);
}

/** What stands between the first such tags. (By index: a pattern would be slow on long texts.) */
function inTag(text: string, tag: string): string | undefined {
  const start = text.indexOf(`<${tag}>`);
  const end = text.indexOf(`</${tag}>`, start);
  return start < 0 || end < 0 ? undefined : text.slice(start + tag.length + 2, end);
}

// Both without patterns that try a white space in two places: on long texts of it they take hours.

/** What a fence of a code block holds. */
function withoutFence(text: string): string {
  if (!text.startsWith("```")) return text;
  const end = text.endsWith("```") && text.length >= 6 ? -3 : text.length;
  return text.slice(3, end).replace(/^json/i, "").trim();
}

/** `tool: name`, then perhaps `parameters: …`. */
function inLines(text: string): Action | undefined {
  const [first = "", ...others] = text.split("\n", 2);
  const [, name] = /^(?:tool|action) *: *(\S.*)$/i.exec(first) ?? [];
  if (name === undefined) return undefined;
  const rest = others.length > 0 ? text.slice(first.length).trim() : "";
  if (rest !== "" && !/^parameters *:/i.test(rest)) return undefined;
  return fromLines(name.trim(), rest.slice(rest.indexOf(":") + 1).trim());
}

/** Parameters that are not JSON are taken for a query, as the original does. */
function fromLines(name: string, parameters: string): Action {
  let given: unknown = {};
  if (parameters !== "")
    try {
      given = JSON.parse(parameters);
    } catch {
      given = { query: parameters };
    }
  return call(name, isFields(given) ? given : { query: String(given) });
}

function fromJson(json: unknown): Action {
  if (!isFields(json)) return nothing(`A call must be an object. ${HOW}`);
  // OpenAI's form has the call one level further down.
  const {
    name,
    tool,
    arguments: given = {},
    parameters,
  } = isFields(json.function) ? json.function : json;
  const called = name ?? tool;
  if (typeof called !== "string" || called === "") return nothing(`The call has no "name". ${HOW}`);
  let values: unknown = parameters ?? given;
  if (typeof values === "string")
    try {
      values = JSON.parse(values);
    } catch {
      return nothing(`The call's "arguments" are not JSON. ${HOW}`);
    }
  if (!isFields(values)) return nothing(`The call's "arguments" must be an object. ${HOW}`);
  return call(called, values);
}

function call(name: string, given: ToolArguments): Action {
  if (name !== ANSWER.name) return { kind: "call", name, given };
  const { answer = given.query } = given;
  if (typeof answer === "string") return { kind: "answer", answer };
  if (typeof answer === "number" || typeof answer === "boolean")
    return { kind: "answer", answer: String(answer) };
  return nothing(`"answer" needs {"answer": "…"}. ${HOW}`);
}

function nothing(problem: string): Action {
  return { kind: "nothing", problem };
}

function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
