/**
 * @file What the process that watches and the process that reads hostile bytes tell each other.
 */
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";

/** What a worker is to do. */
export interface Work {
  readonly target: string;
  readonly seed: number;
  /** Until so many inputs were tried, or so many seconds are over. */
  readonly inputs: number;
  readonly seconds: number;
  /** Where it may write: `current`, and a folder for the target. */
  readonly scratch: string;
  readonly corpus?: string | undefined;
  /** Whether it ends with the first find. */
  readonly isFirstEnough?: boolean | undefined;
  /** A file to be read alone, in place of everything else. */
  readonly replay?: string | undefined;
}

export interface Count {
  readonly inputs: number;
  readonly blocks: number;
  readonly functions: number;
  readonly corpus: number;
}

export type Message =
  | ({ readonly kind: "count" } & Count)
  | {
      readonly kind: "find";
      readonly signature: string;
      readonly report: string;
      readonly base64: string;
    }
  | { readonly kind: "done" };

/** The input that is being read, in a file: whoever dies of it leaves it behind. */
export interface CurrentFile {
  write(bytes: Buffer): void;
  close(): void;
}

export function openCurrent(file: string): CurrentFile {
  const descriptor = openSync(file, "w");
  const head = Buffer.alloc(8);
  let count = 0;
  return {
    write(bytes) {
      head.writeUInt32LE(++count >>> 0, 0);
      head.writeUInt32LE(bytes.length, 4);
      writeSync(descriptor, head, 0, 8, 0);
      if (bytes.length > 0) writeSync(descriptor, bytes, 0, bytes.length, 8);
    },
    close: () => closeSync(descriptor),
  };
}

/** Undefined before the first input. */
export function readCurrent(file: string): { count: number; bytes: Buffer } | undefined {
  let all: Buffer;
  try {
    all = readFileSync(file);
  } catch {
    return undefined;
  }
  if (all.length < 8) return undefined;
  return { count: all.readUInt32LE(0), bytes: all.subarray(8, 8 + all.readUInt32LE(4)) };
}
