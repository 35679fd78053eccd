/**
 * @file The note that set-up leaves: which addon to load, and what it was built for.
 *
 * build/native/current.json in the package is for the libtorch that is found without asking; with
 * OPENMANUS_LIBTORCH set, each value has a file of its own, so that programs with different wishes
 * run side by side from one checkout. Where the package may not be written to (installed by root for
 * everyone), each user's note lies in that user's cache.
 */

import { accessSync, constants, existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { nativeCache, packageBuilds, type Variables } from "../cache/folder.ts";
import type { Libtorch } from "../libtorch/libtorch.ts";
import { SetupError } from "../support/errors.ts";
import { hashOf, markUsed, readTextIfThere, statusOf, writeAtomically } from "../support/files.ts";
import { PACKAGE_ROOT, SETUP_COMMAND } from "../support/package.ts";
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

/** bin/bootstrap.mjs knows this rule as well. */
export function stampPath(root: string, wish: string | undefined): string {
  return join(packageBuilds(root), wish ? `current-${hashOf(wish)}.json` : "current.json");
}

/** By the manifest, because an update puts another version where the old one lay. */
function cachedStampPath(root: string, environment: Variables): string {
  const manifest = readTextIfThere(join(root, "package.json")) ?? "";
  const key = hashOf(root, manifest, environment.OPENMANUS_LIBTORCH ?? "");
  return join(nativeCache(environment), "stamps", `${key}.json`);
}

export function writeStamp(root: string, environment: Variables, stamp: Stamp): void {
  const own = stampPath(root, environment.OPENMANUS_LIBTORCH);
  const path = mayWriteTo(dirname(own)) ? own : cachedStampPath(root, environment);
  writeAtomically(path, `${JSON.stringify(stamp, null, 2)}\n`);
}

function mayWriteTo(folder: string): boolean {
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** The addon to load and the libtorch behind it, as set-up left them; throws when it did not run. */
export function locateAddon(
  root: string = PACKAGE_ROOT,
  environment: Variables = process.env,
): Stamp {
  // Another user's addon, which we may not read, is none: then our own note counts.
  const own = stampPath(root, environment.OPENMANUS_LIBTORCH);
  const stamp = readStamp(own, root) ?? readStamp(cachedStampPath(root, environment), root);
  if (stamp === undefined) {
    const wish = environment.OPENMANUS_LIBTORCH;
    const forWish = wish ? ` for OPENMANUS_LIBTORCH=${wish}` : "";
    throw new SetupError(
      `the native addon has not been built here${forWish}. Run: ${SETUP_COMMAND}`,
    );
  }
  markUsed(stamp.addon);
  return stamp;
}

/** Undefined when there is none, when its addon is gone, and when a stranger could have put it there. */
function readStamp(path: string, root: string): Stamp | undefined {
  try {
    const stamp = JSON.parse(readFileSync(path, "utf8")) as Stamp;
    const trusted = [path, stamp.addon].every((file) => isTrusted(dirname(file), root));
    return trusted && existsSync(stamp.addon) ? stamp : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the folder is ours, root's, or of whoever owns the package, whose code runs anyway. */
function isTrusted(folder: string, root: string): boolean {
  const owner = statusOf(folder)?.uid;
  return [process.geteuid?.() ?? owner, 0, statusOf(root)?.uid].includes(owner);
}
