/**
 * @file This package: where it lies, and how a person sets it up there.
 */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The package's folder; the same three steps up from src/setup/support and from dist/setup/support. */
export const PACKAGE_ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/** A checkout has the sources; an installed package has only what was compiled from them. */
const IS_CHECKOUT = existsSync(join(PACKAGE_ROOT, "src"));

/** What to type to set up; every message that asks for it says it this way. */
export const SETUP_COMMAND = IS_CHECKOUT ? "npm run setup" : "npx openmanus-rl setup";
