/**
 * @file Follows a file of lines that another process writes: gives what is new, and says when it was begun anew (a run that
 * is resumed cuts off what it does again).
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";

export interface FollowedLines {
  /** Whole lines since the last time. `anew`: all of them, because earlier ones are no longer there. */
  read(): { readonly lines: readonly string[]; readonly anew: boolean };
}

const NEWLINE = 10;
/** Bytes before the known end that are compared, to see whether the file is still the same. */
const WITNESS = 64;

export function followLines(file: string): FollowedLines {
  let known = 0;
  let witness: Uint8Array = new Uint8Array();
  return {
    read() {
      let descriptor: number;
      try {
        descriptor = openSync(file, "r");
      } catch {
        const anew = known > 0;
        known = 0;
        return { lines: [], anew };
      }
      try {
        const { size } = fstatSync(descriptor);
        const isSame =
          size >= known &&
          (known === 0 || bytesOf(descriptor, known - witness.length, known).equals(witness));
        if (isSame && size === known) return { lines: [], anew: false };
        const anew = !isSame;
        if (anew) known = 0;
        const bytes = bytesOf(descriptor, known, size);
        const end = bytes.lastIndexOf(NEWLINE) + 1;
        const whole = bytes.subarray(0, end);
        known += end;
        witness = bytesOf(descriptor, Math.max(0, known - WITNESS), known);
        return { lines: whole.toString("utf8").split("\n").filter(Boolean), anew };
      } finally {
        closeSync(descriptor);
      }
    },
  };
}

function bytesOf(descriptor: number, start: number, end: number): Buffer {
  const bytes = Buffer.alloc(Math.max(0, end - start));
  let at = 0;
  while (at < bytes.length) {
    const count = readSync(descriptor, bytes, at, bytes.length - at, start + at);
    if (count === 0) break;
    at += count;
  }
  return bytes.subarray(0, at);
}
