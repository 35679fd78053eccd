/** @file Which old builds are removed. */

import { existsSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { pruneBuilds } from "../../../src/setup/cache/prune.ts";
import { temporaryFolder, writeFiles } from "../fakes.ts";

it("keeps what is in use and what was used last", () => {
  const folder = temporaryFolder();
  const addons = Array.from({ length: 27 }, (_, index) => join(folder, `${index}/openmanus.node`));
  for (const [index, path] of addons.entries()) {
    writeFiles(folder, { [`${index}/openmanus.node`]: "" });
    utimesSync(path, 1000 + index, 1000 + index);
  }
  const abandoned = ["objects/x.o.1.temporary", "precompiled/x/libtorch.h.gch.1.temporary"];
  writeFiles(folder, { "build.log": "", [abandoned[0]!]: "", [abandoned[1]!]: "" });
  for (const name of abandoned) utimesSync(join(folder, name), 1, 1);
  pruneBuilds(folder, addons[0]!);
  expect(addons.map((path) => existsSync(path))).toEqual([
    true,
    false,
    false,
    ...Array(24).fill(true),
  ]);
  for (const name of abandoned) expect(existsSync(join(folder, name)), name).toBe(false);
  expect(existsSync(join(folder, "build.log"))).toBe(true);
});
