/**
 * @file Removes builds that nobody has used for a long time, so that build/ does not grow for ever.
 */

import { rmSync } from "node:fs";
import { join } from "node:path";
import { isFile, namesIn, statusOf } from "../support/files.ts";

const KEPT_OBJECTS = 200;
const KEPT_ADDONS = 12;
/** They are big: some 300 MB each. */
const KEPT_PRECOMPILED = 2;
const HOUR = 3_600_000;

/** Keeps the most recently used objects and addons, and clears what killed set-ups left behind. */
export function pruneBuilds(folder: string, inUse: string): void {
  const objects = namesIn(join(folder, "objects")).map((name) => join(folder, "objects", name));
  const addons = namesIn(folder)
    .map((name) => join(folder, name, "openmanus.node"))
    .filter((path) => isFile(path) && path !== inUse);
  const precompiled = namesIn(join(folder, "precompiled")).map((name) =>
    join(folder, "precompiled", name, "libtorch.h.gch"),
  );
  for (const path of oldest(precompiled, KEPT_PRECOMPILED)) {
    rmSync(join(path, ".."), { recursive: true, force: true });
  }
  for (const path of oldest(objects, KEPT_OBJECTS)) rmSync(path, { force: true });
  for (const path of oldest(addons, KEPT_ADDONS)) {
    rmSync(join(path, ".."), { recursive: true, force: true });
  }
  for (const path of objects) {
    const abandoned = path.endsWith(".temporary") && Date.now() - usedAt(path) > HOUR;
    if (abandoned) rmSync(path, { force: true });
  }
}

function oldest(paths: readonly string[], kept: number): string[] {
  return paths.toSorted((a, b) => usedAt(b) - usedAt(a)).slice(kept);
}

/** 0 for a file that another set-up has just removed. */
function usedAt(path: string): number {
  return statusOf(path)?.mtimeMs ?? 0;
}
