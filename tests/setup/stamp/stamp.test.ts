/** @file Finding the addon that set-up left. */

import { chownSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { describeLibtorch } from "../../../src/setup/libtorch/libtorch.ts";
import { takeFacts } from "../../../src/setup/stamp/facts.ts";
import { locateAddon, writeStamp } from "../../../src/setup/stamp/stamp.ts";
import { SetupError } from "../../../src/setup/support/errors.ts";
import { fakeLibtorch, temporaryFolder, writeFiles } from "../fakes.ts";

function place() {
  const root = temporaryFolder();
  const cache = temporaryFolder();
  const addon = join(root, "built/openmanus.node");
  writeFiles(root, { "built/openmanus.node": "" });
  const libtorch = describeLibtorch(fakeLibtorch(join(root, "libtorch")), "environment", []);
  const stamp = {
    ...{ addon, libtorch, linkedCuda: false, nodeAbi: "115", cpu: "x", sourceHash: "y" },
    ...{ compiler: "g++", facts: takeFacts([]) },
  };
  return { root, addon, stamp, environment: { OPENMANUS_CACHE: cache } };
}

const NOT_BUILT = /^the native addon has not been built here\. Run: npm run setup$/;

it("says in one line to run set-up when it has not run", () => {
  const { root, environment } = place();
  expect(() => locateAddon(root, environment)).toThrow(SetupError);
  expect(() => locateAddon(root, environment)).toThrow(NOT_BUILT);
  writeFiles(root, { "build/native/current.json": "{ half" });
  expect(() => locateAddon(root, environment)).toThrow(NOT_BUILT);
});

it("returns what set-up wrote, and notices when the addon is gone", () => {
  const { root, environment, stamp } = place();
  writeStamp(root, environment, stamp);
  expect(locateAddon(root, environment)).toEqual(stamp);
  rmSync(stamp.addon);
  expect(() => locateAddon(root, environment)).toThrow(NOT_BUILT);
});

it("keeps a stamp for each OPENMANUS_LIBTORCH", () => {
  const { root, environment, stamp } = place();
  const wish = (OPENMANUS_LIBTORCH: string) => ({ ...environment, OPENMANUS_LIBTORCH });
  writeStamp(root, wish("/opt/libtorch"), stamp);
  expect(locateAddon(root, wish("/opt/libtorch"))).toEqual(stamp);
  expect(() => locateAddon(root, environment)).toThrow(NOT_BUILT);
  expect(() => locateAddon(root, wish("system"))).toThrow(/for OPENMANUS_LIBTORCH=system\. Run/);
});

it("writes it to the user's cache where the package may not be written to, by version", () => {
  const { root, environment, stamp } = place();
  // A file where the folder would be: root may write everywhere else.
  writeFiles(root, { build: "", "package.json": '{ "version": "1.0.0" }' });
  writeStamp(root, environment, stamp);
  expect(locateAddon(root, environment)).toEqual(stamp);
  writeFiles(root, { "package.json": '{ "version": "1.0.1" }' });
  expect(() => locateAddon(root, environment)).toThrow(NOT_BUILT);
});

it.runIf(process.getuid?.() === 0)("loads nothing that a stranger could have put there", () => {
  const { root, environment, stamp } = place();
  writeStamp(root, environment, stamp);
  chownSync(join(root, "built"), 12345, 12345);
  expect(() => locateAddon(root, environment)).toThrow(NOT_BUILT);
  // Whoever owns the package is no stranger: all its code is theirs.
  chownSync(root, 12345, 12345);
  expect(locateAddon(root, environment)).toEqual(stamp);
});
