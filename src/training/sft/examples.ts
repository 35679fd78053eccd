/**
 * @file What supervised fine-tuning learns from: token ids with a mask on what the agent said.
 *
 * From episodes of a world's expert (played through the same loop as everything else), stored
 * trajectories, or chats in JSON lines or parquet.
 */
import { statSync } from "node:fs";
import { OptionError } from "../../assembly/index.ts";
import { type Chat, type ChatMessage, Conversation } from "../../models/index.ts";
import { readTrajectories, rowsOf, type Trajectory } from "../../rollout/index.ts";
import type { TokenRow } from "../workers/tokens.ts";
import { requireTokensOf } from "./fingerprints.ts";
import { type KeptEpisodes, keptEpisodes } from "./kept.ts";
import { hasTrajectories, messagesOf, readRows, requirePlace } from "./rows.ts";

/** One sequence to learn, and the tokens of it that are learned. */
export type Example = Pick<TokenRow, "ids" | "mask">;

/**
 * The rows of a trajectory: one, or one per turn. What the agent said is learned, but for replies that
 * could not be read or whose action the world did not know. Where a model acted beside an expert, what the
 * expert said is learned.
 */
export function examplesOf(trajectory: Trajectory): Example[] {
  return learntRows(trajectory, 0);
}

/**
 * The same, and what the world said is learned, too: for a model from nothing, which has to learn the
 * world's language first. (Names that come again teach it to copy.)
 */
export function examplesOfEverything(trajectory: Trajectory): Example[] {
  return learntRows(trajectory, 1);
}

function learntRows(trajectory: Trajectory, ofWorld: 0 | 1): Example[] {
  const rows = rowsOf(trajectory);
  const hasExpert = trajectory.turns.some(({ reply }) => reply.source === "scripted");
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
  const conversation = conversationOf(chat, messages);
  const mask = new Uint8Array(conversation.ids.length);
  for (const { kind, start, end } of conversation.segments)
    if (kind === "reply") mask.fill(1, start, end);
  return { ids: Int32Array.from(conversation.ids), mask };
}

/** A chat up to the last message of the assistant. */
export function conversationOf(chat: Chat, messages: readonly ChatMessage[]): Conversation {
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
  return conversation;
}

/**
 * Reads a file of trajectories or chats (.jsonl, .jsonl.gz, .json, .parquet), or the folder of a store, a
 * run or a rollout.
 */
export async function readExamples(
  path: string,
  chat: Chat,
  keep: KeptEpisodes = "all",
): Promise<Example[]> {
  requirePlace(path);
  const examples = await examplesIn(path, chat, keep);
  if (examples.length === 0)
    throw new OptionError(
      `${path}: there is nothing to learn in it; expected trajectories or chats (.jsonl, .jsonl.gz, .json, ` +
        ".parquet), or the folder of a run or a rollout",
    );
  return examples;
}

async function examplesIn(path: string, chat: Chat, keep: KeptEpisodes): Promise<Example[]> {
  if (statSync(path).isDirectory() || hasTrajectories(path))
    return storedExamples(path, chat, keep);
  return (await readRows(path)).map(({ row, place }) => exampleOfRow(row, chat, place));
}

function storedExamples(path: string, chat: Chat, keep: KeptEpisodes): Example[] {
  const kept = keptEpisodes([...readTrajectories(path)], keep, path);
  return kept.flatMap((trajectory) => {
    requireTokensOf(chat, trajectory, path);
    return examplesOf(trajectory);
  });
}

/** `messages: [{role, content}]`, the documents' `conversations: [{from, value}]`, or a bare list. */
function exampleOfRow(row: unknown, chat: Chat, place: string): Example {
  const record = (Array.isArray(row) ? { messages: row } : row) as Record<string, unknown>;
  const list = record?.messages ?? record?.conversations;
  if (!Array.isArray(list))
    throw new OptionError(
      `${place}: expected "messages" (role, content) or "conversations" (from, value)`,
    );
  const messages = messagesOf(list, place);
  try {
    return exampleOfChat(chat, messages);
  } catch (error) {
    throw new OptionError(`${place}: ${(error as Error).message}`);
  }
}
