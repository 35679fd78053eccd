/**
 * @file What a model's chat template can do with functions, found by trying it; and the messages that it gets. Where
 * it shows no functions, no calls or no answers of tools, they are written into the messages' texts, in the form of
 * the model's family.
 */
import type { ToolDefinition } from "../../environments/index.ts";
import type { Chat, ChatMessage } from "../../models/index.ts";
import type { GatewayMessage } from "../conversation/messages.ts";
import { functionOf, HERMES, LLAMA, SMOLLM, type ToolStyle, writeCalls } from "./style.ts";

export interface ToolTemplate {
  readonly style: ToolStyle;
  /** The chat whose prompts show these functions. */
  chatFor(tools: readonly ToolDefinition[]): Chat;
  /** The messages as the template takes them. */
  messagesFor(messages: readonly GatewayMessage[], tools: readonly ToolDefinition[]): ChatMessage[];
}

const PROBE: ToolDefinition = {
  name: "probefunction",
  description: "d",
  parameters: { type: "object", properties: { x: { type: "string" } } },
};
const ASKED: ChatMessage = { role: "user", content: "question" };
/** Chats with other functions that are kept: making one tries its template. */
const KEPT_CHATS = 64;

export function toolTemplate(chat: Chat, family?: string): ToolTemplate {
  const shows = (text: string, messages: readonly ChatMessage[], withTools = false): boolean => {
    try {
      const tried = withTools ? chat.with({ tools: [functionOf(PROBE)] }) : chat;
      return tried.render(messages).includes(text);
    } catch {
      return false;
    }
  };
  const showsTools = shows(PROBE.name, [ASKED], true);
  const call = { id: "call00001", type: "function" };
  const calling: ChatMessage = {
    role: "assistant",
    content: "",
    tool_calls: [{ ...call, function: { name: PROBE.name, arguments: { x: "y" } } }],
  };
  const answered: ChatMessage = { role: "tool", content: "answerword", tool_call_id: call.id };
  const showsCalls = shows(PROBE.name, [ASKED, calling, answered]);
  const showsAnswers =
    shows("answerword", [ASKED, { role: "assistant", content: "x" }, answered]) ||
    shows("answerword", [ASKED, calling, answered]);
  const style = styleOf(chat, family, showsTools);
  const chats = new Map<string, Chat>();

  return {
    style,
    chatFor(tools) {
      if (tools.length === 0 || !showsTools) return chat;
      const key = JSON.stringify(tools);
      const known = chats.get(key);
      if (known) return known;
      const made = chat.with({ tools: tools.map(functionOf) });
      if (chats.size >= KEPT_CHATS) chats.delete(chats.keys().next().value!);
      chats.set(key, made);
      return made;
    },
    messagesFor(messages, tools) {
      const written = messages.map((message): ChatMessage => {
        const { role, content, calls = [], callId } = message;
        if (role === "tool" && !showsAnswers)
          return { role: "user", content: `<tool_response>\n${content}\n</tool_response>` };
        if (role === "tool")
          return { role, content, ...(callId !== undefined && { tool_call_id: callId }) };
        if (calls.length === 0) return { role, content };
        if (showsCalls)
          return {
            role,
            content,
            tool_calls: calls.map(({ id, name, arguments: given }) => ({
              ...{ id, type: "function" },
              function: { name, arguments: parsed(given) },
            })),
          };
        const text = writeCalls(style, calls);
        return { role, content: content === "" ? text : `${content}\n${text}` };
      });
      return tools.length > 0 && !showsTools ? withInstruction(written, style, tools) : written;
    },
  };
}

/** Told in the system's message, which is made where there is none. */
function withInstruction(
  messages: readonly ChatMessage[],
  style: ToolStyle,
  tools: readonly ToolDefinition[],
): ChatMessage[] {
  const instruction = style.instruction(tools);
  const [first, ...rest] = messages;
  if (first?.role !== "system") return [{ role: "system", content: instruction }, ...messages];
  return [{ ...first, content: `${first.content}\n\n${instruction}` }, ...rest];
}

const STYLES: readonly ToolStyle[] = [HERMES, LLAMA, SMOLLM];

export const TOOL_STYLES: readonly string[] = STYLES.map(({ name }) => name);

/** By its name, or by what the template writes itself. */
function styleOf(chat: Chat, family: string | undefined, showsTools: boolean): ToolStyle {
  const named = STYLES.find(({ name }) => name === family);
  if (named) return named;
  const { source } = chat.template;
  if (/python_tag|ipython/.test(source)) return LLAMA;
  if (/<tool_call>/.test(source)) return HERMES;
  // ChatML that knows no functions: as SmolLM2 was taught.
  return showsTools ? HERMES : SMOLLM;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
