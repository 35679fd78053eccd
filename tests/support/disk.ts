/**
 * @file Small disks of a test's own, that become full, get room again, or turn read-only while somebody writes to them. They
 * are mounted, which needs root; where that is not possible the tests are skipped, and the last line of the run says so.
 */
import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, inject, onTestFinished } from "vitest";
import { ballastOf, fillDisk } from "./writes.ts";

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
  const ballast = ballastOf(folder);
  return {
    folder,
    fill: () => fillDisk(ballast),
    free: () => rmSync(ballast, { force: true }),
  };
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
