/**
 * @file Only one process at a time trains in a folder. A lock names its process; one whose process is
 * gone is taken over.
 */
import { linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { OptionError } from "../../assembly/index.ts";
import { processStart } from "../../setup/index.ts";

interface Owner {
  readonly pid: number;
  /** When it began, where the system says: numbers of processes are used again. */
  readonly started: string | null;
}

/** A folder that is this process's own until it is released. */
export interface HeldLock {
  release(): void;
}

export function takeLock(folder: string): HeldLock {
  const file = join(folder, "run.lock");
  const own: Owner = { pid: process.pid, started: processStart(process.pid) ?? null };
  // Written beside and linked into place: nobody ever sees a lock without a name.
  const draft = join(folder, `.lock-${process.pid}-${performance.now()}`);
  writeFileSync(draft, JSON.stringify(own));
  try {
    for (;;) {
      try {
        linkSync(draft, file);
        return { release: () => rmSync(file, { force: true }) };
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      }
      const owner = readOwner(file);
      if (owner && isAlive(owner))
        throw new OptionError(
          `${folder}: process ${owner.pid} is training in this folder. Wait for it, or choose ` +
            "another (trainer.default_local_dir).",
        );
      rmSync(file, { force: true });
    }
  } finally {
    rmSync(draft, { force: true });
  }
}

function readOwner(file: string): Owner | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Owner;
  } catch {
    // Gone in the meantime, or not ours: whoever wrote it does not hold it.
    return undefined;
  }
}

function isAlive({ pid, started }: Owner): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  return started === null || processStart(pid) === started;
}
