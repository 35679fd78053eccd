/**
 * @file Where builds are kept: one folder for each user, so that a second checkout, or a second
 * project that has the package installed, finds everything compiled.
 *
 * What lies there is loaded into our process. So the folder is the user's alone (0700), and one that
 * belongs to somebody else is left aside.
 */

import { accessSync, chmodSync, constants, mkdirSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { SetupError } from "../support/errors.ts";

export type Variables = Readonly<Record<string, string | undefined>>;

/** OPENMANUS_CACHE, else openmanus-rl in the system's folder for caches. */
export function userCache(environment: Variables = process.env): string {
  const { OPENMANUS_CACHE: wish, XDG_CACHE_HOME: caches, HOME: home } = environment;
  if (wish) return resolve(wish);
  // The XDG specification says to ignore a relative path.
  const base = caches && isAbsolute(caches) ? caches : join(home || homedir(), ".cache");
  return join(base, "openmanus-rl");
}

/** Of the user's cache, what set-up keeps. */
export function nativeCache(environment: Variables = process.env): string {
  return join(userCache(environment), "native");
}

export interface BuildPlace {
  readonly folder: string;
  /** Why it is not the user's cache. */
  readonly note: string | undefined;
}

/** The folder for builds, made and checked: the user's cache, else build/native in the package. */
export function buildPlace(root: string, environment: Variables = process.env): BuildPlace {
  const cache = nativeCache(environment);
  const problem = makePrivate(userCache(environment), 0o022) ?? makePrivate(cache, 0o077);
  if (problem === undefined) return { folder: cache, note: undefined };
  const folder = packageBuilds(root);
  const ownProblem = makePrivate(folder, 0o022);
  if (ownProblem !== undefined)
    throw new SetupError(
      `There is no folder to build in: ${problem}, and ${ownProblem}. Expected one that you own and ` +
        "may write to; name it with OPENMANUS_CACHE.",
    );
  return { folder, note: `${problem}; building in ${folder} instead` };
}

/** Where builds and stamps are that belong to this package alone. */
export function packageBuilds(root: string): string {
  return join(root, "build/native");
}

/**
 * Makes the folder and takes these permissions away from others, who could otherwise put a library
 * there. Says what is wrong with a folder for which that cannot be had.
 */
function makePrivate(folder: string, forbidden: number): string | undefined {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const { uid, mode } = statSync(folder);
    if (uid !== (process.geteuid?.() ?? uid)) return `${folder} belongs to another user (${uid})`;
    if (mode & forbidden) chmodSync(folder, mode & 0o777 & ~forbidden);
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    return `${folder} cannot be written to (${(error as NodeJS.ErrnoException).code})`;
  }
}
