#!/usr/bin/env node
/**
 * @file The command. Runs the TypeScript of src/ directly in a checkout, and the JavaScript of dist/
 * where the package is installed.
 */

import { inspect } from "node:util";
import { isCheckout, ourFile, registerTypeScript } from "./typescript.mjs";

const OLDEST_NODE = 20;
const words = process.argv.slice(2);

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
  const { main } = await import(ourFile("cli/main"));
  return main(words);
}

/** Milliseconds that are left to whatever still runs when a command is done. */
const LEFTOVERS = 3000;

/** A timer or a connection that a world forgot would keep the process for ever. */
function endSoon() {
  setTimeout(() => {
    if (process.stdout.writableLength + process.stderr.writableLength > 0) endSoon();
    else process.exit();
  }, LEFTOVERS).unref();
}

try {
  process.exitCode = await run();
} catch (error) {
  // What a user can put right is a message (src/cli/main.ts); this is our mistake and shows its stack.
  // What it quotes must not command the terminal.
  console.error(inspect(error).replace(/(?![\n\t])[\p{Cc}\p{Cf}]/gu, "\ufffd"));
  process.exitCode = 1;
}
endSoon();
