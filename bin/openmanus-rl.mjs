#!/usr/bin/env node
/**
 * @file The command. Runs the TypeScript of src/ directly in a checkout, and the JavaScript of dist/
 * where the package is installed.
 */

import { existsSync } from "node:fs";
import * as nodeModule from "node:module";
import { fileURLToPath } from "node:url";
import { resolve } from "./modules.mjs";

const OLDEST_NODE = 20;
const words = process.argv.slice(2);
const source = new URL("../src/cli/main.ts", import.meta.url);
const compiled = new URL("../dist/cli/main.js", import.meta.url);
const isCheckout = existsSync(source);

/** In both cases, because a world or a reward of the user's own may be TypeScript (./world.ts). */
async function registerTypeScript() {
  const tsx = await import("tsx/esm/api");
  if (isCheckout) {
    // Its paths say that "openmanus-rl" is src/ here. The variable is for the processes that we start.
    const tsconfig = fileURLToPath(new URL("../tsconfig.json", import.meta.url));
    process.env.TSX_TSCONFIG_PATH ??= tsconfig;
    tsx.register({ tsconfig });
  } else tsx.register();
  // The hook that comes last is asked first, and sees what tsx says. Node 20 has the older way only.
  if (nodeModule.registerHooks) nodeModule.registerHooks({ resolve });
  else nodeModule.register("./modules.mjs", import.meta.url);
}

async function run() {
  if (Number.parseInt(process.versions.node, 10) < OLDEST_NODE) {
    console.error(
      `openmanus-rl: Node ${OLDEST_NODE} or newer is needed; this is ${process.version}. Install a ` +
        "newer one (https://nodejs.org) and try again.",
    );
    return 1;
  }
  process.setSourceMapsEnabled(true);
  try {
    await registerTypeScript();
  } catch (error) {
    if (error?.code !== "ERR_MODULE_NOT_FOUND") throw error;
    // A checkout without its packages: set-up is what installs them.
    if (words[0] === "setup") {
      await import("./bootstrap.mjs");
      return process.exitCode ?? 0;
    }
    const command = isCheckout ? "npm run setup" : "npm install";
    console.error(`openmanus-rl: the npm packages are not installed. Run: ${command}`);
    return 1;
  }
  const { main } = await import((isCheckout ? source : compiled).href);
  return main(words);
}

try {
  process.exitCode = await run();
} catch (error) {
  // What a user can put right is a message (src/cli/main.ts); this is our mistake and shows its stack.
  console.error(error);
  process.exitCode = 1;
}
