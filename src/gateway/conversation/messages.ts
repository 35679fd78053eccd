/**
 * @file The one form of messages inside the gateway, whatever protocol they came by, and when two of them are the
 * same.
 */
import type { Role } from "../../models/index.ts";

/** A function that the model wants to have called. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON, as the model wrote it. */
  readonly arguments: string;
}

export interface GatewayMessage {
  readonly role: Role;
  readonly content: string;
  /** Of an assistant. */
  readonly calls?: readonly ToolCall[] | undefined;
  /** Of a tool's answer: which call it answers. */
  readonly callId?: string | undefined;
}

/**
 * Equal for messages that mean the same. Clients parse a call's arguments and write them again, invent names for
 * calls, and drop white space around a text: none of that makes another message.
 */
export function signatureOf({ role, content, calls = [] }: GatewayMessage): string {
  return JSON.stringify([
    role,
    content.trim(),
    calls.map(({ name, arguments: given }) => [name, sameJson(given)]),
  ]);
}

/** Some clients send a reply's text and its calls as two messages: they are one. */
export function joined(messages: readonly GatewayMessage[]): GatewayMessage[] {
  const all: GatewayMessage[] = [];
  for (const message of messages) {
    const last = all.at(-1);
    const isRest =
      message.role === "assistant" && message.content === "" && (message.calls?.length ?? 0) > 0;
    if (last?.role === "assistant" && isRest)
      all[all.length - 1] = { ...last, calls: [...(last.calls ?? []), ...message.calls!] };
    else all.push(message);
  }
  return all;
}

/** A text of JSON with its keys in order; any other text as it is. */
function sameJson(text: string): string {
  try {
    return JSON.stringify(ordered(JSON.parse(text)));
  } catch {
    return text;
  }
}

function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, ordered(item)] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}

/** What is left of a text without the thoughts that the model wrote down in it. */
export function withoutThoughts(content: string): string {
  return content.replace(/<think>[\s\S]*?(?:<\/think>|$)/g, "").replace(/^[\s\S]*?<\/think>/, "");
}
