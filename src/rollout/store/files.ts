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

/** Bytes of one line, without its end. */
export interface Span {
  readonly offset: number;
  readonly length: number;
}

const NEWLINE = 10;

/** The bytes of a file of lines, compressed (.gz) or not. */
export function readLines(file: string): { bytes: Buffer; spans: Span[] } {
  const raw = readFileSync(file);
  const bytes = file.endsWith(".gz") ? gunzipSync(raw) : raw;
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

/** One line of a file, without reading the others where the file is not compressed. */
export function readLine(file: string, { offset, length }: Span): string {
  if (file.endsWith(".gz"))
    return gunzipSync(readFileSync(file)).toString("utf8", offset, offset + length);
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
  writeFileSync(begun, gzipSync(readFileSync(file)));
  const descriptor = openSync(begun, "r+");
  fsyncSync(descriptor);
  closeSync(descriptor);
  renameSync(begun, target);
  rmSync(file);
  return target;
}

/** The opposite, for a file that is to be appended to again: whole, or not at all. */
export function expandLines(file: string): void {
  const begun = `${file}.new`;
  writeFileSync(begun, gunzipSync(readFileSync(`${file}.gz`)));
  // In this order: while both are there, the compressed one counts (see settleCompression).
  renameSync(begun, file);
  rmSync(`${file}.gz`);
}

/** What a crash in the middle of a compression left: the half file, or both files. */
export function settleCompression(file: string): void {
  for (const begun of [`${file}.gz.new`, `${file}.new`]) rmSync(begun, { force: true });
  if (existsSync(file) && existsSync(`${file}.gz`)) rmSync(file);
}
