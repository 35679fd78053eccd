/**
 * @file Small file helpers that the parts of set-up share: hashing, listing, writing atomically.
 */

import { createHash, randomUUID } from "node:crypto";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  type Stats,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";

/** A short stable name for some texts; the separator keeps ["ab", "c"] and ["a", "bc"] apart. */
export function hashOf(...texts: readonly string[]): string {
  return createHash("sha256").update(texts.join("\0")).digest("hex").slice(0, 16);
}

/** Undefined when there is nothing, or nothing that we may look at. */
export function statusOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

export function isFile(path: string): boolean {
  return statusOf(path)?.isFile() ?? false;
}

export function isFolder(path: string): boolean {
  return statusOf(path)?.isDirectory() ?? false;
}

/** The names in a folder, sorted; none when there is no such folder. */
export function namesIn(folder: string): string[] {
  return isFolder(folder) ? readdirSync(folder).sort() : [];
}

export function readTextIfThere(path: string): string | undefined {
  return isFile(path) ? readFileSync(path, "utf8") : undefined;
}

/** Every file and every folder below `folder` (itself first), in the order of their names. */
export function walk(folder: string): { files: string[]; folders: string[] } {
  const found = { files: [] as string[], folders: [folder] };
  for (const name of namesIn(folder)) {
    const path = join(folder, name);
    if (isFile(path)) found.files.push(path);
    else if (isFolder(path)) {
      const below = walk(path);
      found.files.push(...below.files);
      found.folders.push(...below.folders);
    }
  }
  return found;
}

/**
 * Writes a file so that nobody ever sees half of it: another set-up may be reading or writing the
 * same one, and a killed set-up must not leave a broken one behind.
 */
export function writeAtomically(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  const temporary = temporaryName(path);
  writeFileSync(temporary, text);
  renameSync(temporary, path);
}

/** The time of last use is what decides which old builds are removed (cache/prune.ts). */
export function markUsed(path: string): void {
  const now = new Date();
  try {
    utimesSync(path, now, now);
  } catch {
    // Just removed by another set-up, or on a disk that may only be read: no use is noted then.
  }
}

/** A name beside `path` (same filesystem, so that rename is atomic) that nobody else uses. */
export function temporaryName(path: string): string {
  return `${path}.${randomUUID()}.temporary`;
}
