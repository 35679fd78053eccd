/** @file Finding the addon that set-up left. */

import { rmSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, it, vi } from "vitest";
import { describeLibtorch } from "../../../src/setup/libtorch/libtorch.ts";
import { takeFacts } from "../../../src/setup/stamp/facts.ts";
import { locateAddon, stampPath, writeStamp } from "../../../src/setup/stamp/stamp.ts";
import { SetupError } from "../../../src/setup/support/errors.ts";
import { fakeLibtorch, temporaryFolder, writeFiles } from "../fakes.ts";

// "undefined" below means no wish, whatever libtorch this suite itself runs with.
beforeEach(() => vi.stubEnv("OPENMANUS_LIBTORCH", undefined));

function stampFor(root: string) {
  const addon = join(root, "openmanus.node");
  writeFiles(root, { "openmanus.node": "" });
  const libtorch = describeLibtorch(fakeLibtorch(join(root, "libtorch")), "environment", []);
  return {
    ...{ addon, libtorch, linkedCuda: false, nodeAbi: "115", cpu: "x", sourceHash: "y" },
    ...{ compiler: "g++", facts: takeFacts([]) },
  };
}

it("says to run set-up when it has not run", () => {
  const root = temporaryFolder();
  expect(() => locateAddon(root, undefined)).toThrow(SetupError);
  expect(() => locateAddon(root, undefined)).toThrow(/has not been built .*Run: npm run setup/);
  writeFiles(root, { "build/native/current.json": "{ half" });
  expect(() => locateAddon(root, undefined)).toThrow(/Run: npm run setup/);
});

it("returns what set-up wrote, and notices when the addon is gone", () => {
  const root = temporaryFolder();
  const stamp = stampFor(root);
  writeStamp(stampPath(root, undefined), stamp);
  expect(locateAddon(root, undefined)).toEqual(stamp);
  rmSync(stamp.addon);
  expect(() => locateAddon(root, undefined)).toThrow(/is gone: .*Run: npm run setup/);
});

it("keeps a stamp for each OPENMANUS_LIBTORCH", () => {
  const root = temporaryFolder();
  writeStamp(stampPath(root, "/opt/libtorch"), stampFor(root));
  expect(locateAddon(root, "/opt/libtorch").addon).toBe(join(root, "openmanus.node"));
  expect(() => locateAddon(root, undefined)).toThrow(/has not been built/);
  expect(() => locateAddon(root, "system")).toThrow(/for OPENMANUS_LIBTORCH=system/);
});
