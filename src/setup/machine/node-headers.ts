/**
 * @file Finds the headers of Node-API, which the addon is compiled against.
 */

import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { SetupError } from "../support/errors.ts";
import { isFile } from "../support/files.ts";

/**
 * From the npm package, else beside the node that runs us (official builds have them). The package
 * first, because it says the same to every version of Node: what one has compiled serves the others.
 */
export function nodeHeaders(
  nodeBinary: string = process.execPath,
  importer: string = import.meta.url,
): string {
  try {
    const entry = createRequire(importer).resolve("node-api-headers");
    const packaged = join(dirname(entry), "include");
    if (isFile(join(packaged, "node_api.h"))) return packaged;
  } catch {
    // Not installed: Node may have them.
  }
  const beside = join(dirname(nodeBinary), "../include/node");
  if (isFile(join(beside, "node_api.h"))) return beside;
  throw new SetupError(
    `No node_api.h: neither in the npm package node-api-headers nor in ${beside}. Run: npm install`,
  );
}
