/**
 * @file Compiles native/ into an addon for one libtorch, and only what has changed.
 *
 * Everything is named by the hash of what it was made from: objects/<hash>.o, <version>-<hash>/
 * openmanus.node. So a changed file recompiles alone, the builds for several libtorchs live side by
 * side, and two set-ups at once can only ever write the same bytes under the same name (each file
 * appears by a rename, never half-written).
 */

import { mkdirSync, renameSync, rmSync, statSync, utimesSync } from "node:fs";
import { basename, join } from "node:path";
import type { Run } from "../support/command.ts";
import { hashOf, isFile, temporaryName } from "../support/files.ts";
import { BuildLog, describeTarget } from "./build-log.ts";
import { type Compiler, compileOptions, linkOptions, type Target } from "./compiler.ts";
import { warnings } from "./diagnosis.ts";
import { forEachInParallel } from "./parallel.ts";
import { precompiledHeader } from "./precompiled.ts";
import { listSources, readSource, type Source } from "./sources.ts";

export interface BuildOptions {
  readonly target: Target;
  readonly compiler: Compiler;
  /** Where objects, addons and the log go: build/native. */
  readonly folder: string;
  /** See cpuKey: the compiler's "native" means this CPU. */
  readonly cpu: string;
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
  const { target, compiler, folder, run, report } = options;
  const { libtorch } = target;
  const started = performance.now();
  const sources = listSources(target.sources);
  const sourceHash = hashOf(...sources.flatMap(({ name, hash }) => [name, hash]));
  const compile = compileOptions(target);
  const link = linkOptions(target);

  const library = statSync(join(libtorch.libDir, "libtorch_cpu.so"));
  const identity = hashOf(
    ...[libtorch.root, libtorch.version, `${library.size}`, `${library.mtimeMs}`],
    ...[compiler.path, compiler.version, options.cpu, ...compile],
  );
  const object = (source: Source) =>
    join(folder, "objects", `${hashOf(identity, source.name, source.hash)}.o`);
  const objects = sources.map(object);
  const key = hashOf(...objects.map((path) => basename(path)), ...link, process.versions.modules);
  const addon = join(folder, `${libtorch.version}-${key}`, "openmanus.node");

  if (isFile(addon)) {
    for (const path of [addon, ...objects.filter(isFile)]) markUsed(path);
    return { addon, sourceHash, compiled: 0 };
  }

  const log = new BuildLog(join(folder, "build.log"), libtorch.version);
  const missing = sources.filter((source) => !isFile(object(source)));
  report(
    `building native (${count(missing.length)} of ${sources.length}) for ${describeTarget(target)} …`,
  );
  mkdirSync(join(folder, "objects"), { recursive: true });

  const stop = new AbortController();
  const header = precompiledHeader({
    ...{ compiler, compile, run, signal: stop.signal },
    folder: join(folder, "precompiled", identity),
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
    const args = [...compile, ...precompiled, "-c", source.path, "-o", temporary];
    const result = await run(compiler.path, args, { signal });
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

  if (edited) {
    report("sources were edited meanwhile, so once more:");
    return buildAddon(options);
  }

  mkdirSync(join(addon, ".."), { recursive: true });
  const temporary = temporaryName(addon);
  try {
    await linkAndTry(objects, link, temporary, options, log);
    renameSync(temporary, addon);
  } finally {
    rmSync(temporary, { force: true });
  }
  report(`built native in ${seconds(started)}`);
  return { addon, sourceHash, compiled: missing.length };
}

/** Links the addon, and loads it once in a process of its own: a build that does not load is none. */
async function linkAndTry(
  objects: readonly string[],
  link: readonly string[],
  output: string,
  { compiler, run, target }: BuildOptions,
  log: BuildLog,
): Promise<void> {
  // A libtorch with threads of its own brings no OpenMP runtime; only then do we link one.
  for (const openMp of [[], ["-fopenmp"]]) {
    const args = [...objects, ...link, ...openMp, "-o", output];
    const linked = await run(compiler.path, args);
    log.add(compiler.path, args, linked.stderr);
    if (linked.status !== 0) throw log.failure("linking the addon", linked.stderr, target);

    const program = ["-e", "process.dlopen({ exports: {} }, process.argv[1])", output];
    const loaded = await run(process.execPath, program, { environment: { NODE_OPTIONS: "" } });
    log.add(process.execPath, program, loaded.stderr);
    if (loaded.status === 0) return;
    const lacksOpenMp = /undefined symbol: (?:GOMP_|omp_)/.test(loaded.stderr);
    if (!lacksOpenMp || openMp.length > 0) {
      const cause = /^Error: (.*)$/m.exec(loaded.stderr)?.[1] ?? `exit code ${loaded.status}`;
      throw log.failure("loading the addon", cause, target);
    }
  }
}

/** The time of last use is what decides which old builds are removed. */
function markUsed(path: string): void {
  const now = new Date();
  utimesSync(path, now, now);
}

function count(files: number): string {
  return files === 1 ? "1 file" : `${files} files`;
}

function seconds(since: number): string {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`;
}
