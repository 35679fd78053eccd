/**
 * @file Files of JSON lines: where each line stands, what a crash left, compression of old ones.
 */
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { gunzipSync, gzipSync } from "node:zlib";
import { TrajectoryLineError } from "./line.ts";

/** Bytes of one line, without its end. */
export interface Span {
  readonly offset: number;
  readonly length: number;
}

const NEWLINE = 10;

/** The bytes of a file of lines, compressed (.gz) or not. */
export function readLines(file: string): { bytes: Buffer; spans: Span[] } {
  const bytes = bytesOf(file);
  const spans: Span[] = [];
  for (let offset = 0; offset < bytes.length; ) {
    const end = bytes.indexOf(NEWLINE, offset);
    // A last line without its end was being written when the process died.
    if (end < 0) break;
    if (end > offset) spans.push({ offset, length: end - offset });
    offset = end + 1;
  }
  return { bytes, spans };
}

/** The lines of any such file as texts, a last one without its end, too. */
export function readTextLines(file: string): string[] {
  return bytesOf(file).toString("utf8").split("\n").filter(Boolean);
}

/** A running run compresses its older files: one that was just listed may have another name by now. */
function bytesOf(file: string): Buffer {
  if (file.endsWith(".gz")) return expanded(file);
  if (!existsSync(file) && existsSync(`${file}.gz`)) return expanded(`${file}.gz`);
  return readFileSync(file);
}

/** Bytes that a small file may become, and how many times its own bytes beyond that. */
const SMALL = 64 * 1024 * 1024;
const MOST_TIMES = 200;
const LARGEST = 2 ** 31;

/** The bytes of a compressed file. Text becomes ten times shorter by compression; a bomb, a thousand times. */
function expanded(file: string): Buffer {
  const bytes = readFileSync(file);
  try {
    const maxOutputLength = Math.min(LARGEST, SMALL + MOST_TIMES * bytes.length);
    return gunzipSync(bytes, { maxOutputLength });
  } catch (error) {
    throw new TrajectoryLineError(
      `${file}: cannot be unpacked (${(error as Error).message}); is it compressed with gzip, and whole?`,
    );
  }
}

/** One line of a file, without reading the others where the file is not compressed. */
export function readLine(file: string, { offset, length }: Span): string {
  if (file.endsWith(".gz")) return expanded(file).toString("utf8", offset, offset + length);
  const descriptor = openSync(file, "r");
  try {
    const bytes = Buffer.alloc(length);
    const count = readSync(descriptor, bytes, 0, length, offset);
    return bytes.toString("utf8", 0, count);
  } finally {
    closeSync(descriptor);
  }
}

/** Cuts off a last line that was not written to its end. Returns how many bytes that were. */
export function repairLines(file: string): number {
  const descriptor = openSync(file, "r+");
  try {
    const { size } = fstatSync(descriptor);
    const piece = Buffer.alloc(65_536);
    for (let end = size; end > 0; ) {
      const start = Math.max(0, end - piece.length);
      const count = readSync(descriptor, piece, 0, end - start, start);
      const newline = piece.subarray(0, count).lastIndexOf(NEWLINE);
      if (newline >= 0) {
        const kept = start + newline + 1;
        if (kept < size) ftruncateSync(descriptor, kept);
        return size - kept;
      }
      end = start;
    }
    ftruncateSync(descriptor, 0);
    return size;
  } finally {
    closeSync(descriptor);
  }
}

/** Replaces a file of lines by its compressed form: whole, or not at all. */
export function compressLines(file: string): string {
  const target = `${file}.gz`;
  const begun = `${target}.new`;
  try {
    writeFileSync(begun, gzipSync(readFileSync(file)));
    const descriptor = openSync(begun, "r+");
    try {
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(begun, target);
  } catch (error) {
    rmSync(begun, { force: true });
    throw error;
  }
  rmSync(file);
  return target;
}

/** The opposite, for a file that is to be appended to again: whole, or not at all. */
export function expandLines(file: string): void {
  const begun = `${file}.new`;
  writeFileSync(begun, expanded(`${file}.gz`));
  // In this order: while both are there, the compressed one counts (see settleCompression).
  renameSync(begun, file);
  rmSync(`${file}.gz`);
}

/** What a crash in the middle of a compression left: the half file, or both files. */
export function settleCompression(file: string): void {
  for (const begun of [`${file}.gz.new`, `${file}.new`]) rmSync(begun, { force: true });
  if (existsSync(file) && existsSync(`${file}.gz`)) rmSync(file);
}
