/**
 * @file Finds the torch of a Python without importing it (importing costs seconds).
 */

import { delimiter, dirname, join } from "node:path";
import type { Run } from "../support/command.ts";
import { isFile } from "../support/files.ts";

export interface PythonTorch {
  readonly python: string;
  /** …/site-packages/torch */
  readonly folder: string;
}

export interface PythonSearch {
  readonly torch: PythonTorch | undefined;
  /** Files and folders whose change may change the answer: the interpreters, their search paths. */
  readonly watched: readonly string[];
}

// The current folder is taken off the search path: a folder named torch there is not the package.
const PROGRAM = `
import importlib.util, json, os, sys
sys.path = [p for p in sys.path if p not in ("", os.getcwd())]
spec = importlib.util.find_spec("torch")
print(json.dumps({"origin": spec.origin if spec else None, "path": sys.path}))
`;

/** The first of these Pythons that has torch: the active environment's, then the PATH's python3. */
export async function findPythonTorch(
  environment: Readonly<Record<string, string | undefined>>,
  run: Run,
): Promise<PythonSearch> {
  const watched = new Set<string>();
  for (const python of candidates(environment)) {
    watched.add(python);
    const answer = await run(python, ["-c", PROGRAM]);
    if (answer.status !== 0) continue;
    const { origin, path } = JSON.parse(answer.stdout) as { origin: string | null; path: string[] };
    for (const folder of path) watched.add(folder);
    if (origin) return { torch: { python, folder: dirname(origin) }, watched: [...watched] };
  }
  return { torch: undefined, watched: [...watched] };
}

function candidates(environment: Readonly<Record<string, string | undefined>>): string[] {
  const pythonIn = (folder: string) => join(folder, "python3");
  const active = [environment.VIRTUAL_ENV, environment.CONDA_PREFIX]
    .filter((folder) => folder !== undefined && folder !== "")
    .map((folder) => pythonIn(join(folder!, "bin")))
    .filter(isFile);
  const onPath = (environment.PATH ?? "")
    .split(delimiter)
    .filter(Boolean)
    .map(pythonIn)
    .find(isFile);
  return [...new Set([...active, ...(onPath ? [onPath] : [])])];
}
