/**
 * @file Small disks of a test's own, that become full, get room again, or turn read-only while somebody writes to them. They
 * are mounted, which needs root; where that is not possible the tests are skipped, and the last line of the run says so.
 */
import { spawnSync } from "node:child_process";
import fs, {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, inject, onTestFinished } from "vitest";

export interface SmallDisk {
  readonly folder: string;
  /** Not one byte more. */
  fill(): void;
  free(): void;
}

/** One that turns read-only, as a damaged one does: also for files that are open. */
export interface FragileDisk {
  readonly folder: string;
  turnReadOnly(): void;
  /** Can be written to again. */
  mend(): Promise<void>;
}

const command = (program: string, ...words: readonly string[]) => {
  const { status, stderr } = spawnSync(program, words, { encoding: "utf8" });
  return status === 0 ? undefined : stderr || `${program} cannot be run`;
};

function required(problem: string | undefined): void {
  if (problem !== undefined) throw new Error(problem);
}

/** Whether tests of these must be skipped: `describe.skipIf(areDisksMissing())`. */
export function areDisksMissing(): boolean {
  const folder = mkdtempSync(join(tmpdir(), "openmanus-disk-"));
  try {
    const image = join(folder, "image");
    writeFileSync(image, "");
    truncateSync(image, 2 ** 20);
    const place = join(folder, "place");
    mkdirSync(place);
    const problem =
      command("mkfs.ext4", "-q", image) ??
      command("mount", "-o", "loop", image, place) ??
      command("umount", place);
    if (problem === undefined) return false;
  } finally {
    rmSync(folder, { recursive: true });
  }
  const file = expect.getState().testPath ?? "";
  appendFileSync(
    inject("skippedFile"),
    `disks of a test's own (root, mount, mkfs.ext4)\ttests/${file.split("/tests/").at(-1)}\n`,
  );
  return true;
}

/** Unmounted and removed with the test. */
function place(): { folder: string } {
  const parent = mkdtempSync(join(tmpdir(), "openmanus-disk-"));
  const folder = join(parent, "disk");
  mkdirSync(folder);
  onTestFinished(async () => {
    await unmount(folder);
    rmSync(parent, { recursive: true, force: true });
  });
  return { folder };
}

/** A thread that was told to end (a lock's sign of life) holds its file for a moment longer. */
async function unmount(folder: string): Promise<void> {
  const end = performance.now() + 20_000;
  for (;;) {
    const problem = command("umount", folder);
    if (problem === undefined) return;
    if (performance.now() > end) throw new Error(problem);
    await sleep(100);
  }
}

export function smallDisk(megabytes: number): SmallDisk {
  const { folder } = place();
  required(command("mount", "-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", folder));
  const ballast = join(folder, ".ballast");
  return {
    folder,
    fill() {
      const descriptor = fs.openSync(ballast, "a");
      try {
        for (let size = 2 ** 16; size >= 1; size /= 16)
          for (;;) if (!isWritten(descriptor, size)) break;
      } finally {
        fs.closeSync(descriptor);
      }
    },
    free: () => rmSync(ballast, { force: true }),
  };
}

function isWritten(descriptor: number, size: number): boolean {
  try {
    return ORIGINAL.writeSync(descriptor, Buffer.alloc(size)) > 0;
  } catch {
    return false;
  }
}

export function fragileDisk(megabytes: number): FragileDisk {
  // In memory: what is made durable there does not wait for the machine's disk. Before the other: it is removed after it.
  const image = join(smallDisk(megabytes + 2).folder, "image");
  const { folder } = place();
  writeFileSync(image, "");
  truncateSync(image, megabytes * 2 ** 20);
  required(command("mkfs.ext4", "-q", "-m", "0", image));
  const mount = () => required(command("mount", "-o", "loop", image, folder));
  mount();
  return {
    folder,
    // What the file system does itself when it finds that it is damaged.
    turnReadOnly: () => required(command("mount", "-o", "remount,abort", folder)),
    async mend() {
      await unmount(folder);
      // 1: something was put right.
      spawnSync("fsck.ext4", ["-p", image]);
      mount();
    },
  };
}

const NAMES = ["openSync", "writeSync", "writeFileSync", "mkdirSync"] as const;
const ORIGINAL = {
  openSync: fs.openSync,
  writeSync: fs.writeSync,
  writeFileSync: fs.writeFileSync,
  mkdirSync: fs.mkdirSync,
};

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
