/**
 * @file Trajectories for others: the documents' list of messages, chat messages, a parquet file for SFT.
 */
import { renameSync } from "node:fs";
import type { SchemaElement } from "hyparquet";
import { parquetWriteFile } from "hyparquet-writer";
import type { Json } from "../../environments/index.ts";
import { naming, removeIfPossible, temporaryName } from "../../folders/index.ts";
import type { ChatMessage } from "../../models/index.ts";
import { rowsOf, type Trajectory } from "../trajectory.ts";

/** One message as the documents write it. */
export interface DocumentMessage {
  readonly from: "human" | "gpt";
  readonly value: string;
  /** Of the step that a reply led to; 0 for what the agent was told. */
  readonly reward: number;
  readonly info: Readonly<Record<string, Json>>;
}

/** The documents' `{from, value, reward, info}`; the last message's info has success and score. */
export function toDocumentMessages({ turns, won, score, status }: Trajectory): DocumentMessage[] {
  return turns.flatMap((turn, i): DocumentMessage[] => {
    const told = turn.messages.map(({ content }) => content).join("\n\n");
    const end = i === turns.length - 1 ? { success: won, score, status } : {};
    return [
      { from: "human", value: told, reward: 0, info: {} },
      { from: "gpt", value: turn.reply.text, reward: turn.reward, info: { ...turn.info, ...end } },
    ];
  });
}

/** Chats as messages: one per episode or branch, or one per turn where every turn has a prompt of its own. */
export function toChats(trajectory: Trajectory): ChatMessage[][] {
  return rowsOf(trajectory).map((turns) =>
    turns.flatMap(({ messages, reply }): ChatMessage[] => [
      ...messages,
      { role: "assistant", content: reply.text },
    ]),
  );
}

const text = (name: string): SchemaElement => ({
  name,
  type: "BYTE_ARRAY",
  converted_type: "UTF8",
  repetition_type: "REQUIRED",
});

const SCHEMA: SchemaElement[] = [
  { name: "root", num_children: 7 },
  { name: "messages", converted_type: "LIST", repetition_type: "REQUIRED", num_children: 1 },
  { name: "list", repetition_type: "REPEATED", num_children: 1 },
  { name: "element", repetition_type: "REQUIRED", num_children: 2 },
  text("role"),
  text("content"),
  text("data_source"),
  text("item_id"),
  text("status"),
  { name: "reward", type: "DOUBLE", repetition_type: "REQUIRED" },
  { name: "score", type: "DOUBLE", repetition_type: "REQUIRED" },
  { name: "won", type: "BOOLEAN", repetition_type: "REQUIRED" },
];

/** A row per chat, with the column `messages` that verl's and TRL's SFT read. Returns how many. */
export function writeParquet(file: string, trajectories: Iterable<Trajectory>): number {
  const columns = {
    messages: [] as { role: string; content: string }[][],
    data_source: [] as string[],
    item_id: [] as string[],
    status: [] as string[],
    reward: [] as number[],
    score: [] as number[],
    won: [] as boolean[],
  };
  for (const trajectory of trajectories)
    for (const chat of toChats(trajectory)) {
      columns.messages.push(chat.map(({ role, content }) => ({ role, content })));
      columns.data_source.push(trajectory.task.environment);
      columns.item_id.push(trajectory.id);
      columns.status.push(trajectory.status);
      columns.reward.push(trajectory.reward);
      columns.score.push(trajectory.score);
      columns.won.push(trajectory.won);
    }
  const columnData = Object.entries(columns).map(([name, data]) => ({ name, data }));
  const temporary = temporaryName(file);
  try {
    naming(
      file,
      () => parquetWriteFile({ filename: temporary, columnData, schema: SCHEMA }),
      temporary,
    );
    renameSync(temporary, file);
  } catch (error) {
    removeIfPossible(temporary);
    throw error;
  }
  return columns.messages.length;
}
