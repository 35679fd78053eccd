/**
 * @file Makes a folder and those above it. By hand: Node's own way tries for ever where the system says that
 * there is no such folder although the one above it is there, as it does in /proc.
 */
import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";

/** One that is there already is left as it is. Throws the system's error. */
export function makeFolder(folder: string): void {
  const path = resolve(folder);
  try {
    mkdirSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST" && statSync(path).isDirectory()) return;
    const above = dirname(path);
    if (code !== "ENOENT" || existsSync(above)) throw error;
    makeFolder(above);
    mkdirSync(path);
  }
}
