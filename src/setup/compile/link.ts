/**
 * @file Links the objects into the addon, and loads it once: a build that does not load is none.
 */

import { mkdirSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import type { Run } from "../support/command.ts";
import { temporaryName } from "../support/files.ts";
import type { BuildLog } from "./build-log.ts";
import type { Plan, PlanOptions } from "./plan.ts";

/** The addon appears under its name only when a process of its own could load it. */
export async function linkAndTry(
  { objects, link, addon }: Plan,
  options: PlanOptions & { readonly run: Run },
  log: BuildLog,
): Promise<void> {
  mkdirSync(dirname(addon), { recursive: true });
  const output = temporaryName(addon);
  try {
    // A libtorch with threads of its own brings no OpenMP runtime; only then do we link one.
    const attempt = [...objects, ...link, "-o", output];
    if (!(await loads(attempt, output, true, options, log)))
      await loads([...attempt, "-fopenmp"], output, false, options, log);
    renameSync(output, addon);
  } finally {
    rmSync(output, { force: true });
  }
}

/** False when all that is missing is an OpenMP runtime, and that may be; throws for other failures. */
async function loads(
  args: readonly string[],
  output: string,
  mayLackOpenMp: boolean,
  { compiler, run, target }: PlanOptions & { readonly run: Run },
  log: BuildLog,
): Promise<boolean> {
  const linked = await run(compiler.path, args);
  log.add(compiler.path, args, linked.stderr);
  if (linked.status !== 0) throw log.failure("linking the addon", linked.stderr, target);

  const program = ["-e", "process.dlopen({ exports: {} }, process.argv[1])", output];
  const loaded = await run(process.execPath, program, { environment: { NODE_OPTIONS: "" } });
  log.add(process.execPath, program, loaded.stderr);
  if (loaded.status === 0) return true;
  if (mayLackOpenMp && /undefined symbol: (?:GOMP_|omp_)/.test(loaded.stderr)) return false;
  const cause = /^Error: (.*)$/m.exec(loaded.stderr)?.[1] ?? `exit code ${loaded.status}`;
  throw log.failure("loading the addon", cause, target);
}
