/**
 * @file Which C++ compiler builds native/, and with which options.
 */

import { basename, delimiter, join } from "node:path";
import type { Libtorch } from "../libtorch/libtorch.ts";
import type { Run } from "../support/command.ts";
import { SetupError } from "../support/errors.ts";
import { isFile } from "../support/files.ts";

export interface Compiler {
  readonly path: string;
  /** The first line of --version. */
  readonly version: string;
}

/** CXX if it is set (and an error when it does not work), else g++ or c++; undefined without one. */
export async function findCompiler(
  environment: Readonly<Record<string, string | undefined>>,
  run: Run,
): Promise<Compiler | undefined> {
  const wish = environment.CXX;
  for (const name of wish ? [wish] : ["g++", "c++"]) {
    const path = name.includes("/") ? name : onPath(name, environment.PATH ?? "");
    const answer = path === undefined ? undefined : await run(path, ["--version"]);
    if (path !== undefined && answer?.status === 0) {
      return { path, version: answer.stdout.split("\n")[0]!.trim() };
    }
  }
  if (wish) {
    throw new SetupError(
      `CXX=${wish} is not a compiler that runs. Expected the name or path of a C++ compiler, without ` +
        "options; correct it, or unset it to use g++.",
    );
  }
  return undefined;
}

function onPath(name: string, path: string): string | undefined {
  const folders = path.split(delimiter).filter(Boolean);
  return folders.map((folder) => join(folder, name)).find(isFile);
}

export interface Target {
  readonly libtorch: Libtorch;
  /** The folder of node_api.h. */
  readonly nodeHeaders: string;
  /** The folder whose sources are compiled, from the folder around it; includes are relative to it. */
  readonly sources: string;
  /** Whether CUDA's libraries are linked (libtorch/cuda.ts). */
  readonly linkCuda: boolean;
  /** Folders of CUDA's and NCCL's headers, for that. Default: none. */
  readonly cudaHeaders?: readonly string[];
}

// Node-API 9 came with Node 20.3; asking for more than the running Node has would not load.
const NODE_API_VERSION = Math.min(9, Number(process.versions.napi));

export function compileOptions(target: Target): string[] {
  const { libtorch } = target;
  const gloo = libtorch.glooHeaders;
  return [
    `-std=${libtorch.cxxStandard}`,
    "-O3",
    // Nobody reads errno or floating-point traps here; GCC otherwise keeps loops scalar for them.
    "-fno-math-errno",
    "-fno-trapping-math",
    process.arch === "arm64" ? "-mcpu=native" : "-march=native",
    "-fopenmp",
    "-fPIC",
    "-fvisibility=hidden",
    "-Wall",
    // libtorch itself is compiled so; without it, its headers' debug checks run on our side only.
    "-DNDEBUG",
    `-D_GLIBCXX_USE_CXX11_ABI=${libtorch.cxx11Abi ? 1 : 0}`,
    `-DNAPI_VERSION=${NODE_API_VERSION}`,
    ...(gloo ? ["-DUSE_C10D_GLOO"] : []),
    `-I${basename(target.sources)}`,
    // As system headers, so that their warnings are not ours. /usr/include is searched anyway, and
    // naming it would break the compiler's own #include_next.
    ...[...libtorch.includeDirs, target.nodeHeaders]
      .filter((folder) => folder !== "/usr/include")
      .flatMap((folder) => ["-isystem", folder]),
    // Last of all: the folder may hold another torch's headers beside Gloo's.
    ...(gloo && gloo !== "/usr/include" ? ["-idirafter", gloo] : []),
  ];
}

/** For the few files that are different with CUDA, so that builds with and without it share all other objects. */
export function cudaOptions({ linkCuda, cudaHeaders = [] }: Target): string[] {
  if (!linkCuda) return [];
  return ["-DOPENMANUS_CUDA", ...cudaHeaders.flatMap((folder) => ["-idirafter", folder])];
}

export function linkOptions(target: Target): string[] {
  const { libDir } = target.libtorch;
  return [
    "-shared",
    `-L${libDir}`,
    // RPATH rather than RUNPATH: it beats LD_LIBRARY_PATH, where another libtorch may lie.
    `-Wl,-rpath,${libDir}`,
    "-Wl,--disable-new-dtags",
    // A symbol this libtorch lacks is an error when the addon loads, not a crash at its first call.
    "-Wl,-z,now",
    "-Wl,--no-as-needed",
    "-ltorch_cpu",
    "-lc10",
    // Loading CUDA's libraries costs 0.3 s and 370 MB, so only where there is a GPU to use.
    ...(target.linkCuda ? ["-ltorch_cuda", "-lc10_cuda", "-ltorch"] : []),
    // OpenMP's runtime is left out on purpose: its symbols come through libtorch_cpu, from the very
    // libgomp that libtorch itself uses. A wheel ships its own, and two in one process would each
    // start their threads.
  ];
}

/** Whether an NVIDIA driver is there: it makes these files, the second one under WSL. */
export const GPU_FILES = ["/dev/nvidiactl", "/dev/dxg"];
