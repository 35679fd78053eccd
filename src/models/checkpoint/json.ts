/**
 * @file JSON files of others: read strictly, with errors that name the file.
 */
import { readFileSync, statSync } from "node:fs";
import { ModelFileError, messageOf } from "./errors.ts";

export type JsonObject = { readonly [key: string]: unknown };

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The file's text; an error says whether it is missing or unreadable. */
export function readText(file: string): string {
  return decodeText(readBytes(file), file);
}

/** Bytes of a file that is read as a whole. The largest tokenizers have some 40 MB. */
const LARGEST = 1_000_000_000;

function readBytes(file: string): Buffer {
  try {
    // Before it is opened: a pipe would be waited for, and a device has no end.
    const found = statSync(file);
    if (!found.isFile()) throw new ModelFileError(file, "is no file, nor a link to one");
    if (found.size > LARGEST)
      throw new ModelFileError(file, `has ${found.size} bytes, expected at most ${LARGEST}`);
    return readFileSync(file);
  } catch (error) {
    if (error instanceof ModelFileError) throw error;
    const code = (error as NodeJS.ErrnoException).code;
    const reason = code === "ENOENT" ? "the file does not exist" : messageOf(error);
    throw new ModelFileError(file, reason, { cause: error });
  }
}

/** Bytes as text; invalid UTF-8 is an error instead of a replacement character. */
export function decodeText(bytes: Uint8Array, file: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw new ModelFileError(file, "is not valid UTF-8", { cause: error });
  }
}

/** A JSON object from a file. */
export function readJsonObject(file: string): JsonObject {
  return parseJsonObject(readText(file), file);
}

/** A JSON object from text; a repeated key is an error, because readers disagree on which one counts. */
export function parseJsonObject(text: string, file: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new ModelFileError(file, `is not valid JSON (${messageOf(error)})`, { cause: error });
  }
  if (!isJsonObject(value)) throw new ModelFileError(file, "is not a JSON object");
  const repeated = repeatedKey(text);
  if (repeated !== undefined)
    throw new ModelFileError(file, `the key ${JSON.stringify(repeated)} appears twice`);
  return value;
}

/**
 * The first key that an object of a valid JSON text has twice. `JSON.parse` keeps the last one and
 * says nothing. (No regular expression: a hostile text could exhaust its stack.)
 */
function repeatedKey(text: string): string | undefined {
  // One entry per open bracket: the keys of an object so far, or null for an array.
  const open: (Set<string> | null)[] = [];
  for (let i = 0; i < text.length; i++) {
    const symbol = text[i];
    if (symbol === "{") open.push(new Set());
    else if (symbol === "[") open.push(null);
    else if (symbol === "}" || symbol === "]") open.pop();
    else if (symbol === '"') {
      const end = endOfString(text, i);
      const keys = open.at(-1);
      if (keys && colonFollows(text, end)) {
        const key = JSON.parse(text.slice(i, end)) as string;
        if (keys.has(key)) return key;
        keys.add(key);
      }
      i = end - 1;
    }
  }
  return undefined;
}

/** The position after the closing quote of the string that begins at `start`. */
function endOfString(text: string, start: number): number {
  let quote = start;
  for (;;) {
    quote = text.indexOf('"', quote + 1);
    let backslashes = 0;
    while (text[quote - 1 - backslashes] === "\\") backslashes++;
    if (backslashes % 2 === 0) return quote + 1;
  }
}

function colonFollows(text: string, position: number): boolean {
  let next = position;
  while (next < text.length && " \t\r\n".includes(text.charAt(next))) next++;
  return text[next] === ":";
}
