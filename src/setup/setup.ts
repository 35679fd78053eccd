/**
 * @file The whole set-up, top to bottom: libtorch, compiler, build, stamp.
 */

import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildPlace } from "./cache/folder.ts";
import { buildAddon } from "./compile/build.ts";
import { findCompiler, GPU_FILES } from "./compile/compiler.ts";
import { cudaHeaders, wantsCuda } from "./libtorch/cuda.ts";
import { findLibtorch } from "./libtorch/find.ts";
import { COMPILER_PACKAGES, installPackages, LIBTORCH_PACKAGES } from "./machine/apt.ts";
import { cpuFeatures, cpuKey } from "./machine/cpu.ts";
import { nodeHeaders } from "./machine/node-headers.ts";
import { availableThreads } from "./machine/threads.ts";
import { takeFacts } from "./stamp/facts.ts";
import { type Stamp, writeStamp } from "./stamp/stamp.ts";
import { type Run, runCommand } from "./support/command.ts";
import { HOW_TO_GET_LIBTORCH, SetupError } from "./support/errors.ts";
import { walk } from "./support/files.ts";
import { PACKAGE_ROOT, SETUP_COMMAND } from "./support/package.ts";

export interface SetupOptions {
  readonly root?: string;
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly run?: Run;
  readonly report?: (line: string) => void;
  /** See FindOptions. */
  readonly systemPrefixes?: readonly string[];
}

/** One compiler of a file that includes all of ATen takes about this much memory, in bytes. */
const COMPILER_MEMORY = 1e9;

/** Leaves a built addon and the stamp that names it, or throws a SetupError that says what to do. */
export async function setUp(options: SetupOptions = {}): Promise<Stamp> {
  const root = options.root ?? PACKAGE_ROOT;
  const environment = options.environment ?? process.env;
  const run = options.run ?? runCommand;
  const report = options.report ?? (() => {});
  const install = (names: readonly string[]) =>
    installPackages(names, { run, report, userId: process.getuid?.() ?? -1 });
  if (process.platform !== "linux") {
    throw new SetupError(
      `openmanus-rl runs on Linux; this is ${process.platform}. A Linux container or WSL will do.`,
    );
  }

  const find = () => findLibtorch({ ...options, environment, run });
  let search = await find();
  for (const note of search.notes) report(note);
  if (search.libtorch === undefined) {
    await install(LIBTORCH_PACKAGES);
    search = await find();
  } else if (search.libtorch.origin === "system" && search.libtorch.glooHeaders === null) {
    // Worth a try, not worth a failure: only process groups need it, and the lines below say so.
    await install(["libgloo-dev"]).catch(() => {});
    search = await find();
  }
  const { libtorch } = search;
  if (libtorch === undefined) {
    throw new SetupError(
      `There is no usable libtorch, even after installing packages.\n${HOW_TO_GET_LIBTORCH}`,
    );
  }
  if (libtorch.glooHeaders === null) {
    report(
      "no Gloo headers: built without process groups (to have them: apt-get install libgloo-dev)",
    );
  }

  let compiler = await findCompiler(environment, run);
  if (compiler === undefined) {
    await install(COMPILER_PACKAGES);
    compiler = await findCompiler(environment, run);
  }
  if (compiler === undefined) {
    throw new SetupError(`There is no C++ compiler. Install g++, then run: ${SETUP_COMMAND}`);
  }

  const sources = join(root, "native");
  const native = walk(sources);
  const facts = takeFacts(
    [
      ...native.folders,
      ...native.files,
      ...walk(fileURLToPath(new URL(".", import.meta.url))).files,
      ...[join(root, "package-lock.json"), join(root, "node_modules/.package-lock.json")],
      ...pyenvFiles(root, environment),
      ...search.watched,
      ...(libtorch.glooHeaders ? [join(libtorch.glooHeaders, "gloo")] : ["/usr/include/gloo"]),
      ...GPU_FILES,
      compiler.path,
    ],
    environment,
  );

  const place = buildPlace(root, environment);
  if (place.note) report(place.note);
  const cpu = cpuKey(cpuFeatures());
  const linkCuda = wantsCuda(libtorch, GPU_FILES.some(existsSync), environment);
  const build = await buildAddon({
    target: {
      ...{ libtorch, nodeHeaders: nodeHeaders(), sources, linkCuda },
      cudaHeaders: linkCuda ? cudaHeaders(libtorch, environment) : [],
    },
    compiler,
    folder: place.folder,
    cpu,
    jobs: Math.max(1, Math.min(availableThreads(), Math.floor(freeMemory() / COMPILER_MEMORY))),
    run,
    report,
  });
  const stamp: Stamp = {
    addon: build.addon,
    libtorch,
    linkedCuda: linkCuda,
    nodeAbi: process.versions.modules,
    cpu,
    sourceHash: build.sourceHash,
    compiler: compiler.version,
    facts,
  };
  writeStamp(root, environment, stamp);
  return stamp;
}

/** pyenv's python3 is one script for every version; these files choose which one it runs. */
function pyenvFiles(root: string, environment: Readonly<Record<string, string | undefined>>) {
  const pyenv = environment.PYENV_ROOT ?? join(homedir(), ".pyenv");
  return [join(pyenv, "version"), join(root, ".python-version")];
}

/** In bytes, with a container's limit counted where this Node can (from 20.13). */
function freeMemory(): number {
  return process.availableMemory?.() ?? Number.POSITIVE_INFINITY;
}
