#!/usr/bin/env node
/**
 * @file The command. Runs the TypeScript of src/ directly in a checkout, and the JavaScript of dist/
 * where only that is there.
 */

import { existsSync } from "node:fs";

process.setSourceMapsEnabled(true);

const source = new URL("../src/cli/main.ts", import.meta.url);
const compiled = new URL("../dist/cli/main.js", import.meta.url);

try {
  let entry = compiled;
  if (existsSync(source)) {
    const { register } = await import("tsx/esm/api");
    register();
    entry = source;
  }
  const { main } = await import(entry.href);
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const missing = error?.code === "ERR_MODULE_NOT_FOUND" && /'tsx'/.test(error.message);
  if (missing) console.error("openmanus-rl is not set up yet. Run: npm run setup");
  // What a user can put right is a message; anything else is our mistake and shows its stack.
  else console.error(error?.name === "SetupError" ? `openmanus-rl: ${error.message}` : error);
  process.exitCode = 1;
}
