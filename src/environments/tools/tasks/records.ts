/**
 * @file Reads records from a file: JSON (a list, or an object with one), JSON lines, or parquet.
 */
import { existsSync, readFileSync, statSync } from "node:fs";
import { ParquetError, parquetRows } from "../../data/parquet.ts";
import { EnvironmentError } from "../../environment.ts";

export type FileRecord = Readonly<Record<string, unknown>>;

const LARGEST = 1_000_000_000;
const MOST_RECORDS = 5_000_000;

export async function recordsOf(path: string): Promise<readonly FileRecord[]> {
  if (!existsSync(path) || !statSync(path).isFile())
    fail(`there is no file ${path}. Give a .json, .jsonl or .parquet file.`);
  const { size } = statSync(path);
  if (size > LARGEST) fail(`${path} has ${size} bytes; at most ${LARGEST} are read.`);
  const values = path.endsWith(".parquet") ? await parquetValues(path) : jsonValues(path);
  if (values.length > MOST_RECORDS) fail(`${path} has more than ${MOST_RECORDS} records.`);
  return values.map((value, index) => {
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return value as FileRecord;
    return fail(`record ${index + 1} of ${path} must be an object, not ${shown(value)}.`);
  });
}

async function parquetValues(path: string): Promise<unknown[]> {
  try {
    return await parquetRows(path, MOST_RECORDS);
  } catch (error) {
    if (!(error instanceof ParquetError)) throw error;
    return fail(`${path} cannot be read as parquet: ${error.message}`, error);
  }
}

function jsonValues(path: string): unknown[] {
  const text = readFileSync(path, "utf8").replace(/^\uFEFF/, "");
  const isLines = /\.(jsonl|ndjson)$/.test(path);
  if (isLines)
    return text.split("\n").flatMap((line, index) => {
      if (line.trim() === "") return [];
      return [parsed(line, `line ${index + 1} of ${path}`)];
    });
  const json = parsed(text, path);
  if (Array.isArray(json)) return json;
  // { "data": [ … ] }, whatever the name.
  const lists = Object.values((json ?? {}) as object).filter(Array.isArray);
  return lists.length === 1
    ? (lists[0] as unknown[])
    : fail(`${path} must be a list of objects, or an object with one list.`);
}

function parsed(text: string, place: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    return fail(`${place} is not JSON: ${(error as Error).message.slice(0, 200)}`, error);
  }
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? String(value)).slice(0, 60);
}

function fail(message: string, cause?: unknown): never {
  throw new EnvironmentError("tools", message, cause === undefined ? {} : { cause });
}
