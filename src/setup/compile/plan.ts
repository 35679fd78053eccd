/**
 * @file What a build would make, named by the hash of everything it is made from.
 *
 * A checkout's own path is in no name: sources are compiled by their path relative to the package,
 * and Node's headers count by what they say. So a second checkout comes to the same names, and finds
 * what the first one built.
 */

import { statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { hashOf, readTextIfThere } from "../support/files.ts";
import {
  type Compiler,
  compileOptions,
  cudaOptions,
  linkOptions,
  type Target,
} from "./compiler.ts";
import { listSources, type Source } from "./sources.ts";

export interface Plan {
  readonly sources: readonly Source[];
  /** Of all the sources. */
  readonly sourceHash: string;
  /** Of libtorch, compiler, CPU and options: what all objects have in common. */
  readonly identity: string;
  readonly compile: readonly string[];
  /** What a source is compiled with besides. */
  readonly own: (source: Source) => readonly string[];
  readonly link: readonly string[];
  /** Where the compiler runs: paths in its options are relative to it. */
  readonly folder: string;
  /** The path of the object that a source becomes. */
  readonly object: (source: Source) => string;
  readonly objects: readonly string[];
  readonly addon: string;
}

export interface PlanOptions {
  readonly target: Target;
  readonly compiler: Compiler;
  /** Where objects, addons and the log go: see cache/folder.ts. */
  readonly folder: string;
  /** See cpuKey: the compiler's "native" means this CPU. */
  readonly cpu: string;
}

export function planBuild({ target, compiler, folder, cpu }: PlanOptions): Plan {
  const { libtorch } = target;
  const sources = listSources(target.sources);
  const link = linkOptions(target);
  const library = statSync(join(libtorch.libDir, "libtorch_cpu.so"));
  const identity = hashOf(
    ...[libtorch.root, libtorch.version, `${library.size}`, `${library.mtimeMs}`],
    ...[compiler.path, compiler.version, cpu],
    ...compileOptions({ ...target, nodeHeaders: contentsOf(target.nodeHeaders) }),
  );
  const cuda = cudaOptions(target);
  const own = (source: Source) => (source.asksForCuda ? cuda : []);
  const object = (source: Source) =>
    join(folder, "objects", `${hashOf(identity, source.name, source.hash, ...own(source))}.o`);
  const objects = sources.map(object);
  const key = hashOf(...objects.map((path) => basename(path)), ...link, process.versions.modules);
  return {
    sources,
    sourceHash: hashOf(...sources.flatMap(({ name, hash }) => [name, hash])),
    identity,
    compile: compileOptions(target),
    own,
    link,
    folder: dirname(target.sources),
    object,
    objects,
    addon: join(folder, `${libtorch.version}-${key}`, "openmanus.node"),
  };
}

const NODE_API = ["node_api.h", "node_api_types.h", "js_native_api.h", "js_native_api_types.h"];

/** By what they say: they lie in the node_modules of some checkout. */
function contentsOf(nodeHeaders: string): string {
  return hashOf(...NODE_API.map((name) => readTextIfThere(join(nodeHeaders, name)) ?? ""));
}
