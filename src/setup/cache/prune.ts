/**
 * @file Removes builds that nobody has used for a long time, so that the cache does not grow for ever.
 * Called with the lock held (lock.ts): nobody else is about to link what is removed here.
 */

import { rmSync } from "node:fs";
import { join } from "node:path";
import { isFile, namesIn, statusOf, walk } from "../support/files.ts";

/** Of some fifteen builds, 0.1 MB each. */
const KEPT_OBJECTS = 600;
/** 2 MB each. One that is in use counts as used whenever a process loads it. */
const KEPT_ADDONS = 24;
/** They are big: some 300 MB each. */
const KEPT_PRECOMPILED = 2;
const KEPT_STAMPS = 100;
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
  const stamps = namesIn(join(folder, "stamps")).map((name) => join(folder, "stamps", name));
  for (const path of oldest(stamps, KEPT_STAMPS)) rmSync(path, { force: true });
  for (const path of walk(folder).files) {
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
