/**
 * @file `npm run setup` and `openmanus-rl setup`: runs the set-up and prints what it does. bin/bootstrap.mjs starts it, with
 * the lock held, when something may have changed since the last time.
 */

import { setUp } from "./setup.ts";
import { SetupError } from "./support/errors.ts";

try {
  const { libtorch } = await setUp({ report: (line) => console.log(`setup: ${line}`) });
  console.log(`setup: ready, libtorch ${libtorch.version} (${libtorch.origin})`);
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  console.error(`setup: ${error.message}`);
  process.exitCode = 1;
}
