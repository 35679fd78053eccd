/**
 * @file What a finished set-up depended on, so that the next start sees in milliseconds that nothing
 * has changed.
 *
 * The facts are plain values in the stamp. bin/bootstrap.mjs compares them without TypeScript,
 * Python or a compiler; when any differs it runs the whole set-up, which then finds out whether the
 * difference matters. (So a fact too many costs a second, a fact too few a stale build.)
 */

import { delimiter } from "node:path";
import { cpuFeatures } from "../machine/cpu.ts";
import { statusOf } from "../support/files.ts";

export interface Facts {
  /** Version of Node. */
  readonly node: string;
  readonly cpuFlags: string;
  readonly environment: Readonly<Record<string, string | null>>;
  /** Path to "modified:size", or "missing". A folder's time changes when a name comes or goes. */
  readonly files: Readonly<Record<string, string>>;
}

/** These choose a Python, a torch, a compiler, or what is linked. */
const VARIABLES = [
  "CXX",
  "VIRTUAL_ENV",
  "CONDA_PREFIX",
  "PYTHONPATH",
  "PYENV_VERSION",
  "OPENMANUS_CUDA",
  "CUDA_HOME",
];

/** Taken before the work whose inputs they describe: an edit during a build must count as new. */
export function takeFacts(
  paths: readonly string[],
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Facts {
  const values = VARIABLES.map((name) => [name, environment[name] ?? null] as const);
  return {
    node: process.version,
    cpuFlags: cpuFeatures().flags.join(" "),
    environment: { ...Object.fromEntries(values), PATH: searchPath(environment.PATH) },
    files: Object.fromEntries(paths.map((path) => [path, signature(path)])),
  };
}

export function signature(path: string): string {
  const found = statusOf(path);
  return found ? `${found.mtimeMs}:${found.size}` : "missing";
}

/** npm puts folders of its own on the PATH; with and without npm, the set-up is the same. */
function searchPath(path: string | undefined): string {
  const folders = (path ?? "").split(delimiter);
  return folders.filter((folder) => !folder.includes("node_modules")).join(delimiter);
}
