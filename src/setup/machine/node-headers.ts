/**
 * @file Finds the headers of Node-API, which the addon is compiled against.
 */

import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { SetupError } from "../support/errors.ts";
import { isFile } from "../support/files.ts";

/** Beside the node that runs us (official builds have them), else from the npm package. */
export function nodeHeaders(nodeBinary: string = process.execPath): string {
  const beside = join(dirname(nodeBinary), "../include/node");
  if (isFile(join(beside, "node_api.h"))) return beside;
  try {
    const entry = createRequire(import.meta.url).resolve("node-api-headers");
    const packaged = join(dirname(entry), "include");
    if (isFile(join(packaged, "node_api.h"))) return packaged;
  } catch {
    // Not installed: said below.
  }
  throw new SetupError(
    `No node_api.h: neither in ${beside} nor in the npm package node-api-headers. Run: npm install`,
  );
}
