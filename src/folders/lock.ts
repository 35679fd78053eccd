/**
 * @file Only one process at a time works in a folder. A lock names its process, its machine and gives signs
 * of life; one whose process is gone is taken over.
 *
 * On the same machine the process itself is looked for. Of another machine, or another container, only the
 * heartbeat can be seen (heartbeat.ts): where none came for a minute, by the clock of the file system, the
 * process is taken for dead. Should it have been only frozen, it finds its lock gone and stops
 * (`requireHeld`) before it writes anything.
 */
import { randomUUID } from "node:crypto";
import {
  linkSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { processStart } from "../setup/index.ts";
import { FolderBusyError, FolderError, written } from "./errors.ts";
import { startHeartbeat } from "./heartbeat.ts";
import { machineName } from "./machine.ts";

interface Owner {
  readonly id: string;
  readonly pid: number;
  /** When it began, where the system says: numbers of processes are used again. */
  readonly started: string | null;
  /** See machine.ts. */
  readonly machine: string;
  /** For people. */
  readonly host: string;
}

/** A folder that is this process's own until it is released. */
export interface HeldLock {
  /** Throws where another process has taken the folder over. */
  requireHeld(): void;
  release(): void;
}

export const LOCK_FILE = "run.lock";

/** Milliseconds between two signs of life. */
const BEAT = 5000;
/** Without a sign for so long, the holder is dead. */
const STALE = 60_000;

/** Locks of this process that were released and could not be removed. */
const left = new Set<string>();

export function takeLock(folder: string): HeldLock {
  const file = join(folder, LOCK_FILE);
  const own: Owner = {
    id: randomUUID(),
    pid: process.pid,
    started: processStart(process.pid) ?? null,
    machine: machineName(),
    host: hostname(),
  };
  // Written beside and linked into place: nobody ever sees a lock without a name.
  const draft = join(folder, `.lock-${own.id}`);
  written(folder, () => writeFileSync(draft, JSON.stringify(own)));
  try {
    const made = statSync(draft);
    while (!linked(draft, file)) {
      const found = lookAt(file);
      if (!found) continue;
      requireDead(folder, found, made);
      moveAside(file, found.text, own.id);
    }
    const heartbeat = startHeartbeat({ file, inode: made.ino, milliseconds: BEAT });
    return heldLock(folder, file, own, heartbeat);
  } finally {
    rmSync(draft, { force: true });
  }
}

function heldLock(folder: string, file: string, own: Owner, heartbeat: { stop(): void }): HeldLock {
  const holder = () => ownerIn(lookAt(file)?.text ?? "");
  return {
    requireHeld() {
      const now = holder();
      if (now?.id === own.id) return;
      throw new FolderError(
        `${folder}: ${now ? nameOf(now) : "somebody"} has taken this folder over, because this process ` +
          `gave no sign of life for ${STALE / 1000} s (was it frozen, or the disk away?). Nothing more ` +
          "is written here; see which of the two is to go on, and start that one again.",
      );
    },
    release() {
      heartbeat.stop();
      if (holder()?.id !== own.id) return;
      try {
        rmSync(file, { force: true });
      } catch {
        // The disk can only be read: the file stays, and means nothing.
        left.add(own.id);
      }
    },
  };
}

/** False where there is a lock already. */
function linked(draft: string, file: string): boolean {
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return false;
  }
}

interface Found {
  readonly text: string;
  readonly changed: Stats;
}

/** Undefined where it is gone in the meantime. */
function lookAt(file: string): Found | undefined {
  try {
    return { text: readFileSync(file, "utf8"), changed: statSync(file) };
  } catch {
    return undefined;
  }
}

/** Undefined where nobody is named: whoever wrote that does not hold it. */
function ownerIn(text: string): Partial<Owner> | undefined {
  try {
    return (JSON.parse(text) as Partial<Owner> | null) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Whether somebody works in the folder, for whoever only looks; by this machine's clock where it is another's. */
export function isHeld(folder: string): boolean {
  const found = lookAt(join(folder, LOCK_FILE));
  const owner = found && ownerIn(found.text);
  if (!owner) return false;
  const isHere = owner.machine === undefined || owner.machine === machineName();
  return isHere ? isAlive(owner) : Date.now() - found.changed.mtimeMs <= STALE;
}

/** `now`: of a file that was written a moment ago, by the same clock. */
function requireDead(folder: string, { text, changed }: Found, now: Stats): void {
  const owner = ownerIn(text);
  if (!owner) return;
  // Older locks name no machine.
  const isHere = owner.machine === undefined || owner.machine === machineName();
  const silence = Math.max(0, now.mtimeMs - changed.mtimeMs);
  if (isHere ? !isAlive(owner) : silence > STALE) return;
  throw new FolderBusyError(
    `${folder}: ${nameOf(owner)} is at work in this folder` +
      (isHere ? ". " : ` (last sign of life ${Math.round(silence / 1000)} s ago). `) +
      "Wait for it, or choose another (trainer.default_local_dir, --out or --record)." +
      (isHere ? "" : ` If it is gone, the folder is free ${STALE / 1000} s after its last sign.`),
  );
}

function nameOf({ pid, host, machine }: Partial<Owner>): string {
  const where =
    machine === undefined || machine === machineName()
      ? ""
      : host === hostname()
        ? " in another container or namespace of this machine"
        : ` on ${host}`;
  return `process ${pid}${where}`;
}

function isAlive({ id, pid, started = null }: Partial<Owner>): boolean {
  if (id !== undefined && left.has(id)) return false;
  if (pid === undefined || !Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  return started === null || processStart(pid) === started;
}

/**
 * Removes a dead lock: by renaming, so that of two who found the same one only one removes it. Where it was
 * another's already, that one gets it back.
 */
function moveAside(file: string, dead: string, id: string): void {
  const aside = `${file}.${id}`;
  try {
    renameSync(file, aside);
  } catch {
    return; // Somebody else was first.
  }
  try {
    if (readFileSync(aside, "utf8") !== dead) linked(aside, file);
  } finally {
    rmSync(aside, { force: true });
  }
}
