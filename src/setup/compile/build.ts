/**
 * @file Compiles native/ into an addon for one libtorch, and only what has changed.
 *
 * Everything is named by the hash of what it was made from (plan.ts): objects/<hash>.o,
 * <version>-<hash>/openmanus.node. So a changed file recompiles alone, the builds for several
 * libtorchs and of several checkouts live side by side, and two set-ups at once can only ever write
 * the same bytes under the same name (each file appears by a rename, never half-written).
 */

import { mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { withLock } from "../cache/lock.ts";
import { pruneBuilds } from "../cache/prune.ts";
import type { Run } from "../support/command.ts";
import { isFile, markUsed, temporaryName } from "../support/files.ts";
import { BuildLog, describeTarget } from "./build-log.ts";
import { warnings } from "./diagnosis.ts";
import { linkAndTry } from "./link.ts";
import { forEachInParallel } from "./parallel.ts";
import { type Plan, type PlanOptions, planBuild } from "./plan.ts";
import { precompiledHeader } from "./precompiled.ts";
import { readSource } from "./sources.ts";

export interface BuildOptions extends PlanOptions {
  /** How many compilers run at once. */
  readonly jobs: number;
  readonly run: Run;
  readonly report: (line: string) => void;
}

export interface Build {
  readonly addon: string;
  /** Of all the sources. */
  readonly sourceHash: string;
  /** How many files were compiled; 0 when everything was there already. */
  readonly compiled: number;
}

export async function buildAddon(options: BuildOptions): Promise<Build> {
  const { folder, report } = options;
  mkdirSync(folder, { recursive: true });
  for (;;) {
    const plan = planBuild(options);
    const { addon, sourceHash, objects } = plan;
    for (const path of [addon, ...objects].filter(isFile)) markUsed(path);
    if (isFile(addon)) {
      report(`the native addon is there already, in ${folder}`);
      return { addon, sourceHash, compiled: 0 };
    }
    const compiled = await withLock(join(folder, "lock"), report, async () => {
      // Another set-up may have built it while this one waited.
      if (isFile(addon)) return 0;
      const count = await compileAndLink(plan, options);
      pruneBuilds(folder, addon);
      return count;
    });
    if (compiled !== "edited") return { addon, sourceHash, compiled };
    report("sources were edited meanwhile, so once more:");
  }
}

/** The number of files compiled, or "edited" when a source has changed before all were. */
async function compileAndLink(plan: Plan, options: BuildOptions): Promise<number | "edited"> {
  const { target, compiler, folder, run, report } = options;
  const { sources, object, compile } = plan;
  const started = performance.now();
  const log = new BuildLog(join(folder, "build.log"), target.libtorch.version, plan.folder);
  const missing = sources.filter((source) => !isFile(object(source)));
  const amount = `${missing.length} ${missing.length === 1 ? "file" : "files"} of ${sources.length}`;
  const work = missing.length > 0 ? `building native (${amount})` : "linking native";
  report(`${work} for ${describeTarget(target)} …`);
  mkdirSync(join(folder, "objects"), { recursive: true });

  const stop = new AbortController();
  const header = precompiledHeader({
    ...{ compiler, compile, run, signal: stop.signal, runIn: plan.folder },
    folder: join(folder, "precompiled", plan.identity),
    users: missing.filter((source) => source.includesAten).length,
  });
  let finished = 0;
  let edited = false;
  // Those that need not wait for the header go first.
  const queue = missing.toSorted((a, b) => Number(a.includesAten) - Number(b.includesAten));
  await forEachInParallel(queue, options.jobs, stop, async (source, signal) => {
    const precompiled = source.includesAten ? await header : [];
    if (signal.aborted) return;
    const begun = performance.now();
    const temporary = temporaryName(object(source));
    const args = [
      ...compile,
      ...plan.own(source),
      ...precompiled,
      "-c",
      source.argument,
      "-o",
      temporary,
    ];
    const result = await run(compiler.path, args, { signal, folder: plan.folder });
    if (signal.aborted) return rmSync(temporary, { force: true });
    log.add(compiler.path, args, result.stderr);
    if (result.status !== 0) {
      rmSync(temporary, { force: true });
      throw log.failure(`compiling ${source.name}`, result.stderr, target);
    }
    // An edit while the compiler was reading: the object is not what its name says.
    if (readSource(source.path, target.sources).hash !== source.hash) {
      edited = true;
      return rmSync(temporary);
    }
    renameSync(temporary, object(source));
    finished += 1;
    report(`  [${finished}/${missing.length}] ${source.name} ${seconds(begun)}`);
    for (const warning of warnings(result.stderr).slice(0, 3)) report(`  ${warning}`);
  });
  if (edited) return "edited";

  await linkAndTry(plan, options, log);
  report(`built native in ${seconds(started)}`);
  return missing.length;
}

function seconds(since: number): string {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`;
}
