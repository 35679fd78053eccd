/**
 * @file The format of tool calls: `<tool_call>{"name": …, "arguments": {…}}</tool_call>`, as Qwen and
 * Hermes models write them, or the JSON object alone; and `<answer>…</answer>` where a world wants one.
 *
 * In a world that has no tools of its own, acting is the one tool: `act({"action": "open fridge 1"})`.
 */
import type {
  ParsedReply,
  Problem,
  ReplyFormat,
  Situation,
  ToolCall,
  ToolDescription,
} from "./format.ts";
import { tagsFormat } from "./tags.ts";

/** Offered where a world has no tools: its argument is the world's action. */
export const ACT: ToolDescription = {
  name: "act",
  description: "Does something in the world.",
  parameters: {
    type: "object",
    properties: { action: { type: "string", description: "the action, as the world reads it" } },
    required: ["action"],
  },
};

const CALL = "tool_call";

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
      if (!known.some((tool) => tool.name === read.name))
        return broken(
          parsed,
          "unknown tool",
          `there is no function "${read.name}"; there are ${known.map((tool) => tool.name).join(", ")}`,
        );
      return actionOf(read, parsed);
    },
    write(action, parts = {}) {
      return tags.write(JSON.stringify(callOf(action)), parts);
    },
  };
}

function toolsOf({ tools }: Situation): readonly ToolDescription[] {
  return tools && tools.length > 0 ? tools : [ACT];
}

/** A reply that is only the JSON object, perhaps in a fence of a code block, as if it had its tag. */
function withTag(reply: string): string {
  if (/<tool_call>/i.test(reply)) return reply;
  const bare =
    /^\s*(?:<think>[\s\S]*?<\/think>\s*)?(?:```(?:json)?\s*)?(\{[\s\S]*\})\s*(?:```)?\s*$/i;
  const match = bare.exec(reply);
  return match ? reply.replace(match[1]!, () => `<${CALL}>${match[1]}</${CALL}>`) : reply;
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

function actionOf(call: ToolCall, parsed: ParsedReply): ParsedReply {
  if (call.name !== ACT.name) return { ...parsed, action: JSON.stringify(call), call };
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
