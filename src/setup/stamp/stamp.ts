/**
 * @file The note that set-up leaves: which addon to load, and what it was built for.
 *
 * build/native/current.json is for the libtorch that is found without asking; with
 * OPENMANUS_LIBTORCH set, each value has a file of its own, so that programs with different wishes
 * run side by side from one checkout.
 */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Libtorch } from "../libtorch/libtorch.ts";
import { SetupError } from "../support/errors.ts";
import { hashOf, writeAtomically } from "../support/files.ts";
import type { Facts } from "./facts.ts";

export interface Stamp {
  /** Absolute path of openmanus.node. */
  readonly addon: string;
  readonly libtorch: Libtorch;
  /** Whether the addon loads CUDA's libraries. */
  readonly linkedCuda: boolean;
  /** process.versions.modules of the Node it was built with. */
  readonly nodeAbi: string;
  /** See cpuKey. */
  readonly cpu: string;
  readonly sourceHash: string;
  /** The compiler's version line. */
  readonly compiler: string;
  /** While these hold, there is nothing to set up; bin/bootstrap.mjs compares them. */
  readonly facts: Facts;
}

/** The package's folder; the same three steps up from src/setup/stamp and from dist/setup/stamp. */
export const PACKAGE_ROOT = fileURLToPath(new URL("../../..", import.meta.url));

export function buildFolder(root: string = PACKAGE_ROOT): string {
  return join(root, "build/native");
}

/** bin/bootstrap.mjs knows this rule as well. */
export function stampPath(root: string, wish: string | undefined): string {
  return join(buildFolder(root), wish ? `current-${hashOf(wish)}.json` : "current.json");
}

export function writeStamp(path: string, stamp: Stamp): void {
  writeAtomically(path, `${JSON.stringify(stamp, null, 2)}\n`);
}

/** The addon to load and the libtorch behind it, as set-up left them; throws when it did not run. */
export function locateAddon(
  root: string = PACKAGE_ROOT,
  wish: string | undefined = process.env.OPENMANUS_LIBTORCH,
): Stamp {
  const path = stampPath(root, wish);
  const forWish = wish ? ` for OPENMANUS_LIBTORCH=${wish}` : "";
  let stamp: Stamp;
  try {
    stamp = JSON.parse(readFileSync(path, "utf8")) as Stamp;
  } catch {
    throw new SetupError(
      `The native addon has not been built${forWish} (no readable ${path}). Run: npm run setup`,
    );
  }
  if (!existsSync(stamp.addon)) {
    throw new SetupError(
      `The native addon${forWish} is gone: ${path} names ${stamp.addon}. Run: npm run setup`,
    );
  }
  return stamp;
}
