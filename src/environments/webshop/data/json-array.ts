/**
 * @file Goes through the objects of a JSON array in a file that may be larger than memory.
 */
import { readSync } from "node:fs";

/** What is wrong with a data file, found while reading it. Whoever knows which file it is adds that. */
export class DataError extends Error {
  override name = "DataError";
}

/** Where an object is in the file, in bytes. */
export interface Place {
  readonly offset: number;
  readonly length: number;
}

const CHUNK = 1 << 22;
/** One product of the real files has at most some 100 KB. */
const LONGEST_OBJECT = 1 << 26;
const [QUOTE, BACKSLASH, OPEN, CLOSE] = [0x22, 0x5c, 0x7b, 0x7d];
const [OPEN_LIST, CLOSE_LIST, COMMA] = [0x5b, 0x5d, 0x2c];

/** Calls `each` with every object until it returns false. The array must hold objects only. */
export function eachObject(
  file: number,
  each: (value: unknown, place: Place) => boolean | undefined,
): void {
  let buffer = Buffer.alloc(CHUNK);
  /** File position of the buffer's first byte, and how much of the buffer is filled. */
  let position = 0;
  let filled = 0;
  let at = 0;
  /** Nesting within the current object; 0 between objects. */
  let depth = 0;
  let start = -1;
  let inText = false;
  let escaped = false;
  let opened = false;
  let closed = false;
  for (;;) {
    if (at === filled) {
      // Keep the object that has begun; what is before it is done with.
      const keep = start < 0 ? filled : start;
      if (keep > 0) buffer.copyWithin(0, keep, filled);
      position += keep;
      filled -= keep;
      at = filled;
      if (start >= 0) start = 0;
      if (filled > LONGEST_OBJECT)
        throw new DataError(
          `the object at byte ${position} is longer than ${LONGEST_OBJECT} bytes`,
        );
      if (filled === buffer.length) buffer = Buffer.concat([buffer], buffer.length * 2);
      const count = readSync(file, buffer, filled, buffer.length - filled, position + filled);
      if (count === 0) break;
      filled += count;
    }
    const byte = buffer[at++]!;
    if (inText) {
      // What follows a backslash ends no text.
      if (escaped) escaped = false;
      else if (byte === QUOTE) inText = false;
      else escaped = byte === BACKSLASH;
      continue;
    }
    if (depth > 0) {
      if (byte === QUOTE) inText = true;
      else if (byte === OPEN) depth++;
      else if (byte === CLOSE && --depth === 0) {
        const value = parsed(buffer.subarray(start, at), position + start);
        const place = { offset: position + start, length: at - start };
        start = -1;
        if (each(value, place) === false) return;
      }
      continue;
    }
    if (byte <= 0x20) continue;
    if (byte === OPEN && opened && !closed) {
      depth = 1;
      start = at - 1;
    } else if (byte === OPEN_LIST && !opened) opened = true;
    else if (byte === CLOSE_LIST && opened && !closed) closed = true;
    else if (byte !== COMMA || !opened || closed)
      throw new DataError(
        `byte ${position + at - 1} (${JSON.stringify(String.fromCharCode(byte))}) is not what a JSON array of objects has there`,
      );
  }
  if (!closed)
    throw new DataError(
      start >= 0 || opened ? "it ends in the middle: is the download complete?" : "it is empty",
    );
}

export function parsed(bytes: Uint8Array, offset: number): unknown {
  try {
    return JSON.parse(
      Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8"),
    );
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new DataError(`the object at byte ${offset} is no JSON (${reason})`);
  }
}
