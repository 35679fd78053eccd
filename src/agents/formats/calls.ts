/**
 * @file The format of tool calls: `<tool_call>{"name": …, "arguments": {…}}</tool_call>`, as Qwen and
 * Hermes models write them, or the JSON object alone.
 *
 * In a world that has no tools of its own, acting is the one tool: `act({"action": "open fridge 1"})`.
 */
import type { ToolDefinition } from "../../environments/index.ts";
import type { ParsedReply, Problem, ReplyFormat, Situation, ToolCall } from "./format.ts";
import { tagsFormat } from "./tags.ts";

/** Offered where a world has no tools: its argument is the world's action. */
export const ACT: ToolDefinition = {
  name: "act",
  description: "Does something in the world.",
  parameters: {
    type: "object",
    properties: { action: { type: "string", description: "the action, as the world reads it" } },
    required: ["action"],
  },
};

const CALL = "tool_call";
const OWN_TAG = /<\/?(?:think|tool_call)>/i;

export function callsFormat(name: string): ReplyFormat {
  // Thoughts and the call are tags like any others; what is in the call is read here.
  const tags = tagsFormat(
    name,
    [
      { name: "think", about: "your reasoning", optional: true },
      { name: CALL, about: '{"name": "…", "arguments": {…}}' },
    ],
    CALL,
  );
  return {
    name,
    fields: tags.fields,
    actionField: CALL,
    instruction(situation) {
      const tools = toolsOf(situation).map((tool) => JSON.stringify(tool));
      return [
        "You act by calling one of these functions, one call in each reply:",
        ...tools,
        "",
        tags.instruction(situation),
      ].join("\n");
    },
    parse(reply, situation) {
      const parsed = tags.parse(withTag(reply), situation);
      if (parsed.action === undefined) return parsed;
      const read = readCall(parsed.action);
      if (typeof read === "string") return broken(parsed, "not a call", read);
      const known = toolsOf(situation);
      const tool = known.find(({ name }) => name === read.name);
      if (!tool)
        return broken(
          parsed,
          "unknown tool",
          `there is no function "${read.name}"; there are ${known.map((tool) => tool.name).join(", ")}`,
        );
      return tool === ACT ? actionOf(read, parsed) : callAction(read, parsed);
    },
    write(action, parts = {}) {
      const json = JSON.stringify(callOf(action));
      // Tags in an action's own words stay in it: JSON has another spelling for "<".
      return tags.write(OWN_TAG.test(json) ? json.replaceAll("<", "\\u003c") : json, parts);
    },
  };
}

function toolsOf({ tools }: Situation): readonly ToolDefinition[] {
  return tools && tools.length > 0 ? tools : [ACT];
}

/** A reply that is only the JSON object, perhaps in a fence of a code block, as if it had its tag. */
function withTag(reply: string): string {
  if (/<tool_call>/i.test(reply)) return reply;
  const end = /^\s*<think>/i.test(reply) ? /<\/think>/i.exec(reply) : null;
  const thought = end ? reply.slice(0, end.index + end[0].length) : "";
  const bare = withoutFence(reply.slice(thought.length).trim());
  if (!bare.startsWith("{") || !bare.endsWith("}")) return reply;
  // A closing tag inside of the JSON's texts must not end the call.
  const inside = bare.replace(/<\/(?=tool_call>)/gi, "<\\/");
  return `${thought}<${CALL}>${inside}</${CALL}>`;
}

function withoutFence(text: string): string {
  const fence = /^```(?:json)?/i.exec(text);
  if (!fence || !text.endsWith("```")) return text;
  return text.slice(fence[0].length, -3).trim();
}

/** The call, or what is wrong with it. */
function readCall(text: string): ToolCall | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return `what stands in <${CALL}> is no JSON (${(error as Error).message})`;
  }
  if (!isObject(value)) return `the call is ${kindOf(value)}, expected an object`;
  if (typeof value.name !== "string" || value.name === "") return 'the call has no "name"';
  // Some models write the arguments as a text of JSON, as OpenAI's servers do.
  let given = value.arguments ?? value.parameters ?? {};
  if (typeof given === "string") {
    try {
      given = JSON.parse(given);
    } catch {
      return 'the call\'s "arguments" are a text that is no JSON, expected an object';
    }
  }
  if (!isObject(given)) return `the call's "arguments" are ${kindOf(given)}, expected an object`;
  return { name: value.name, arguments: given };
}

/** A call of a world's own function: the world reads it as JSON. */
function callAction(call: ToolCall, parsed: ParsedReply): ParsedReply {
  try {
    return { ...parsed, action: JSON.stringify(call), call };
  } catch {
    // JSON can be read at any depth, and written only as deep as the stack goes.
    return broken(parsed, "not a call", 'the call\'s "arguments" are nested too deeply');
  }
}

function actionOf(call: ToolCall, parsed: ParsedReply): ParsedReply {
  const { action } = call.arguments;
  if (typeof action === "string" && action.trim() !== "")
    return { ...parsed, action: action.trim(), call };
  return broken(parsed, "not a call", `${ACT.name} needs {"action": "…"}`);
}

/** The call that an action is: itself, if it is one already, or `act`. */
function callOf(action: string): ToolCall {
  const read = readCall(action);
  return typeof read === "string" ? { name: ACT.name, arguments: { action } } : read;
}

function broken(parsed: ParsedReply, kind: Problem["kind"], message: string): ParsedReply {
  return {
    ...parsed,
    action: undefined,
    problems: [...parsed.problems, { kind, field: CALL, message }],
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "a list" : `a ${typeof value}`;
}
