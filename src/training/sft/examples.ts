/**
 * @file What supervised fine-tuning learns from: token ids with a mask on what the agent said.
 *
 * From episodes of a world's expert (played through the same loop as everything else), stored
 * trajectories, or chats in JSON lines or parquet.
 */
import { existsSync, readFileSync } from "node:fs";
import { asyncBufferFromFile, parquetReadObjects } from "hyparquet";
import { OptionError } from "../../assembly/index.ts";
import { type Chat, type ChatMessage, Conversation } from "../../models/index.ts";
import { readTrajectories, type Trajectory } from "../../rollout/index.ts";

/** One sequence to learn. */
export interface Example {
  readonly ids: Int32Array;
  /** 1: learned. */
  readonly mask: Uint8Array;
}

/**
 * The rows of a trajectory: one, or one per turn. What the agent said is learned, but for replies that
 * could not be read or whose action the world did not know. Where a model acted beside an expert, what the
 * expert said is learned.
 */
export function examplesOf(trajectory: Trajectory): Example[] {
  return rowsOf(trajectory, 0);
}

/**
 * The same, and what the world said is learned, too: for a model from nothing, which has to learn the
 * world's language first. (Names that come again teach it to copy.)
 */
export function examplesOfEverything(trajectory: Trajectory): Example[] {
  return rowsOf(trajectory, 1);
}

function rowsOf({ context, turns }: Trajectory, ofWorld: 0 | 1): Example[] {
  const rows = context === "conversation" ? [turns] : turns.map((turn) => [turn]);
  const hasExpert = turns.some(({ reply }) => reply.source === "scripted");
  return rows.map((row) => {
    const ids: number[] = [];
    const mask: number[] = [];
    for (const { promptIds, reply, problems, admissible } of row) {
      const isRight = problems.length === 0 && admissible !== false;
      const ofAgent = isRight && (reply.source === "scripted" || !hasExpert) ? 1 : 0;
      ids.push(...promptIds, ...reply.ids);
      mask.push(...promptIds.map(() => ofWorld), ...reply.ids.map(() => ofAgent));
    }
    mask[0] = 0; // nothing comes before it that could predict it
    return { ids: Int32Array.from(ids), mask: Uint8Array.from(mask) };
  });
}

/** A chat: what the assistant says is learned, with the end of its turns. */
export function exampleOfChat(chat: Chat, messages: readonly ChatMessage[]): Example {
  const first = messages.findIndex(({ role }) => role === "assistant");
  if (first < 1)
    throw new OptionError(
      "a chat must begin with a system or user message and have an assistant's",
    );
  const conversation = new Conversation(chat, messages.slice(0, first));
  for (let i = first; i < messages.length; ) {
    conversation.replyWithText(messages[i]!.content);
    const next = messages.findIndex(({ role }, k) => k > i && role === "assistant");
    if (next < 0) break;
    if (next === i + 1) throw new OptionError("a chat has two assistant messages in a row");
    conversation.append(messages.slice(i + 1, next));
    i = next;
  }
  const mask = new Uint8Array(conversation.ids.length);
  for (const { kind, start, end } of conversation.segments)
    if (kind === "reply") mask.fill(1, start, end);
  return { ids: Int32Array.from(conversation.ids), mask };
}

/** Reads a file of trajectories or chats (.jsonl, .jsonl.gz, .parquet), or a store's folder. */
export async function readExamples(path: string, chat: Chat): Promise<Example[]> {
  if (!existsSync(path)) throw new OptionError(`${path}: there is no such file or folder`);
  if (path.endsWith(".parquet")) {
    const rows = await parquetReadObjects({ file: await asyncBufferFromFile(path) });
    return rows.map((row, i) => exampleOfRow(row, chat, `${path}, row ${i + 1}`));
  }
  if (path.endsWith(".jsonl") && !firstLine(path).includes('"promptIds"')) {
    const lines = readFileSync(path, "utf8").split("\n").filter(Boolean);
    return lines.map((line, i) =>
      exampleOfRow(parsed(line, `${path}, line ${i + 1}`), chat, `${path}, line ${i + 1}`),
    );
  }
  return [...readTrajectories(path)].flatMap(examplesOf);
}

function firstLine(path: string): string {
  return readFileSync(path, "utf8").split("\n", 1)[0] ?? "";
}

function parsed(line: string, place: string): unknown {
  try {
    return JSON.parse(line);
  } catch (error) {
    throw new OptionError(`${place}: is no JSON (${(error as Error).message})`);
  }
}

const ROLES: Readonly<Record<string, ChatMessage["role"]>> = {
  ...{ human: "user", user: "user", gpt: "assistant", assistant: "assistant" },
  ...{ system: "system", tool: "tool" },
};

/** `messages: [{role, content}]`, the documents' `conversations: [{from, value}]`, or a bare list. */
function exampleOfRow(row: unknown, chat: Chat, place: string): Example {
  const record = (Array.isArray(row) ? { messages: row } : row) as Record<string, unknown>;
  const list = record?.messages ?? record?.conversations;
  if (!Array.isArray(list))
    throw new OptionError(
      `${place}: expected "messages" (role, content) or "conversations" (from, value)`,
    );
  const messages = list.map((message: Record<string, unknown>) => {
    const role = ROLES[String(message.role ?? message.from)];
    const content = message.content ?? message.value;
    if (role === undefined || typeof content !== "string")
      throw new OptionError(`${place}: a message has no known role, or no text`);
    return { role, content };
  });
  try {
    return exampleOfChat(chat, messages);
  } catch (error) {
    throw new OptionError(`${place}: ${(error as Error).message}`);
  }
}
