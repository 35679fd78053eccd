/**
 * @file Run folders below the folders that somebody named.
 */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, realpathSync, statSync } from "node:fs";
import { join, resolve } from "node:path";

/** How deep runs lie: runs/PROJECT/EXPERIMENT. */
const DEPTH = 3;
/** More entries of one folder are not looked through. */
const MOST_ENTRIES = 5000;

/** Run folders by their id, which follows from the path and says nothing of it. */
export function findRuns(folders: readonly string[]): Map<string, string> {
  const found = new Map<string, string>();
  for (const folder of folders) look(resolve(folder), DEPTH, found);
  return found;
}

function look(folder: string, depth: number, found: Map<string, string>): void {
  if (isRun(folder)) {
    const path = realpathSync(folder);
    found.set(createHash("sha256").update(path).digest("hex").slice(0, 12), path);
    return;
  }
  if (depth === 0) return;
  for (const name of entriesOf(folder)) {
    if (name.startsWith(".") || name === "node_modules") continue;
    const inside = join(folder, name);
    if (isFolder(inside)) look(inside, depth - 1, found);
  }
}

export function isRun(folder: string): boolean {
  return existsSync(join(folder, "run.json")) && existsSync(join(folder, "config.yaml"));
}

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder).slice(0, MOST_ENTRIES);
  } catch {
    return [];
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
