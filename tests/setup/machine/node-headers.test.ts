/** @file Where Node-API's headers are found. */

import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import { nodeHeaders } from "../../../src/setup/machine/node-headers.ts";
import { temporaryFolder, writeFiles } from "../fakes.ts";

it("finds them in the npm package, else beside node", () => {
  const prefix = writeFiles(temporaryFolder(), { "include/node/node_api.h": "", "bin/node": "" });
  const binary = join(prefix, "bin/node");
  const entry = createRequire(import.meta.url).resolve("node-api-headers");
  expect(nodeHeaders(binary)).toBe(join(entry, "../include"));
  const elsewhere = pathToFileURL(join(prefix, "x.js")).href;
  expect(nodeHeaders(binary, elsewhere)).toBe(join(prefix, "include/node"));
  expect(() => nodeHeaders("/nowhere/bin/node", elsewhere)).toThrow(/neither in the npm package/);
});
