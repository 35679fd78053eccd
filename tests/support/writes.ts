/**
 * @file The moments at which a process writes, and disks that are made full at them. Nothing of the test runner: also for
 * processes that a test starts.
 */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";

const NAMES = ["openSync", "writeSync", "writeFileSync", "mkdirSync"] as const;
const ORIGINAL = {
  openSync: fs.openSync,
  writeSync: fs.writeSync,
  writeFileSync: fs.writeFileSync,
  mkdirSync: fs.mkdirSync,
};

/** The file that takes a disk's room: without it there is room again. */
export const ballastOf = (folder: string): string => join(folder, ".ballast");

/** Not one byte more. */
export function fillDisk(ballast: string): void {
  const descriptor = ORIGINAL.openSync(ballast, "a");
  try {
    for (let size = 2 ** 16; size >= 1; size /= 16)
      for (;;) if (!isWritten(descriptor, size)) break;
  } finally {
    fs.closeSync(descriptor);
  }
}

function isWritten(descriptor: number, size: number): boolean {
  try {
    return ORIGINAL.writeSync(descriptor, Buffer.alloc(size)) > 0;
  } catch {
    return false;
  }
}

export interface WriteMoment {
  /** How often it came. */
  readonly count: () => number;
  end(): void;
}

/**
 * Calls `before` when this process is about to write to a file (or to make a folder) whose path fits, the first time, and
 * `after` when that is done or has failed. The write itself is the real one.
 */
export function atWrite(pattern: RegExp, before: () => void, after: () => void): WriteMoment {
  const paths = new Map<number, string>();
  let count = 0;
  const around = <Result>(path: unknown, write: () => Result): Result => {
    if (count > 0 || typeof path !== "string" || !pattern.test(path)) return write();
    count++;
    before();
    try {
      return write();
    } finally {
      after();
    }
  };
  const patched = {
    // Opening alone writes nothing.
    openSync: (...given: Parameters<typeof fs.openSync>) => {
      const descriptor = ORIGINAL.openSync(...given);
      paths.set(descriptor, String(given[0]));
      return descriptor;
    },
    writeSync: (descriptor: number, ...rest: unknown[]) =>
      around(paths.get(descriptor), () =>
        (ORIGINAL.writeSync as (...all: unknown[]) => number)(descriptor, ...rest),
      ),
    writeFileSync: (...given: Parameters<typeof fs.writeFileSync>) =>
      around(given[0], () => ORIGINAL.writeFileSync(...given)),
    mkdirSync: (...given: Parameters<typeof fs.mkdirSync>) =>
      around(given[0], () => ORIGINAL.mkdirSync(...given)),
  };
  Object.assign(fs, patched);
  syncBuiltinESMExports();
  return {
    count: () => count,
    end() {
      for (const name of NAMES) Object.assign(fs, { [name]: ORIGINAL[name] });
      syncBuiltinESMExports();
    },
  };
}
