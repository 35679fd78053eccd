/**
 * @file Rows of data that people bring: JSON lines, a JSON list, parquet. What a row means is the reader's affair.
 */
import { existsSync, readFileSync } from "node:fs";
import { OptionError } from "../../assembly/index.ts";
import { ParquetError, parquetRows } from "../../environments/index.ts";
import type { ChatMessage } from "../../models/index.ts";
import { readTextLines } from "../../rollout/index.ts";

export interface DataRow {
  readonly row: unknown;
  /** For messages: the file and the line. */
  readonly place: string;
}

export function requirePlace(path: string): void {
  if (!existsSync(path)) throw new OptionError(`${path}: there is no such file or folder`);
}

/** .jsonl, .jsonl.gz, .json or .parquet. */
export async function readRows(path: string): Promise<DataRow[]> {
  if (path.endsWith(".parquet"))
    return (await rowsOfParquet(path)).map((row, i) => ({ row, place: `${path}, row ${i + 1}` }));
  if (path.endsWith(".json")) {
    const rows = parsed(readFileSync(path, "utf8"), path);
    if (!Array.isArray(rows)) throw new OptionError(`${path}: expected a list of chats`);
    return rows.map((row, i) => ({ row, place: `${path}, chat ${i + 1}` }));
  }
  if (!/\.jsonl(\.gz)?$/.test(path))
    throw new OptionError(
      `${path}: what kind of file is it? Its name ends in none of .jsonl, .jsonl.gz, .json, .parquet`,
    );
  return readTextLines(path).map((line, i) => {
    const place = `${path}, line ${i + 1}`;
    return { row: parsed(line, place), place };
  });
}

/** Whether a file of JSON lines has trajectories, or something else. */
export function hasTrajectories(path: string): boolean {
  return /\.jsonl(\.gz)?$/.test(path) && (readTextLines(path)[0]?.includes('"promptIds"') ?? false);
}

/** Far more than anybody fine-tunes on here. */
const MOST_ROWS = 10_000_000;

async function rowsOfParquet(path: string): Promise<unknown[]> {
  try {
    return await parquetRows(path, MOST_ROWS);
  } catch (error) {
    if (!(error instanceof ParquetError)) throw error;
    throw new OptionError(
      `${path}: cannot be read as parquet (${error.message}); is it whole, and parquet?`,
    );
  }
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

/** A list of `{role, content}`, or the documents' `{from, value}`. */
export function messagesOf(list: readonly unknown[], place: string): ChatMessage[] {
  return (list as readonly (Record<string, unknown> | null)[]).map((message) => {
    const name = message?.role ?? message?.from;
    const role = typeof name === "string" && Object.hasOwn(ROLES, name) ? ROLES[name] : undefined;
    const content = message?.content ?? message?.value;
    if (role === undefined || typeof content !== "string")
      throw new OptionError(`${place}: a message has no known role, or no text`);
    return { role, content };
  });
}
