/**
 * @file What set-up knows about a libtorch, read from its folder without loading it.
 *
 * Loading would cost seconds (Python's `import torch`) or a process; everything needed to compile
 * against a libtorch stands in its files.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { SetupError } from "../support/errors.ts";
import { isFile, isFolder, namesIn, readTextIfThere } from "../support/files.ts";

export interface Libtorch {
  /** Who named it: OPENMANUS_LIBTORCH, a Python that has torch, or the system's packages. */
  readonly origin: "environment" | "python" | "system";
  /** The folder that holds include/ and lib/. */
  readonly root: string;
  readonly includeDirs: readonly string[];
  /** The folder of libtorch_cpu.so. */
  readonly libDir: string;
  readonly version: string;
  /** The value of _GLIBCXX_USE_CXX11_ABI it was compiled with. */
  readonly cxx11Abi: boolean;
  /** Whether it is a CUDA build; says nothing about a GPU being there. */
  readonly cuda: boolean;
  /** The include folder that has gloo/, or null: without it there are no Gloo process groups. */
  readonly glooHeaders: string | null;
  /** The C++ standard its headers ask for. */
  readonly cxxStandard: "c++17" | "c++20";
}

/** The oldest libtorch that native/ is written for. */
export const OLDEST_VERSION = "1.13";

const MULTIARCH = process.arch === "arm64" ? "aarch64-linux-gnu" : "x86_64-linux-gnu";

/** Folders the compiler and the loader search unasked; naming them again would reorder the rest. */
const SYSTEM_INCLUDES = ["/usr/include", "/usr/local/include"];

/**
 * Describes the libtorch in `folder`: an unpacked libtorch, a Python's site-packages/torch, a prefix
 * like /usr, or a folder around one of these. Throws a SetupError that says what is missing.
 */
export function describeLibtorch(
  folder: string,
  origin: Libtorch["origin"],
  systemIncludes: readonly string[] = SYSTEM_INCLUDES,
): Libtorch {
  const root = candidateRoots(folder).find((path) => problemWith(path) === undefined);
  if (root === undefined) {
    throw new SetupError(
      `${folder} is not a libtorch: ${problemWith(folder)}.\n` +
        "Expected an unpacked libtorch (with include/ and lib/), a Python's site-packages/torch, " +
        "or a prefix such as /usr that has libtorch's headers and libraries.",
    );
  }
  const include = join(root, "include");
  const libDir = libraryFolder(root)!;
  const version = readVersion(root, include, libDir);
  if (isOlder(version, OLDEST_VERSION)) {
    throw new SetupError(
      `The libtorch in ${root} is ${version}; ${OLDEST_VERSION} or newer is needed.`,
    );
  }
  return {
    origin,
    root,
    includeDirs: [include, join(include, "torch/csrc/api/include")],
    libDir,
    version,
    cxx11Abi: usesCxx11Abi(join(libDir, "libc10.so")),
    cuda: isFile(join(libDir, "libtorch_cuda.so")),
    // A wheel carries Gloo in its library but not its headers. Only pointers to Gloo's classes pass
    // between us and c10d, so another Gloo's headers do (tried: Debian's of 2022 with torch 2.15).
    glooHeaders:
      [include, ...systemIncludes].find((path) => isFile(join(path, "gloo/algorithm.h"))) ?? null,
    cxxStandard: cxxStandard(include),
  };
}

/** The folder itself, and where a libtorch would be if the folder is a virtual environment or so. */
function candidateRoots(folder: string): string[] {
  const pythons = namesIn(join(folder, "lib")).filter((name) => name.startsWith("python3"));
  return [
    folder,
    join(folder, "torch"),
    join(folder, "libtorch"),
    ...pythons.map((name) => join(folder, "lib", name, "site-packages/torch")),
  ];
}

function problemWith(root: string): string | undefined {
  if (!isFolder(root)) return "there is no such folder";
  if (!isFile(join(root, "include/ATen/ATen.h"))) return "it has no include/ATen/ATen.h";
  if (libraryFolder(root) === undefined) return "it has no lib/libtorch_cpu.so and lib/libc10.so";
  return undefined;
}

function libraryFolder(root: string): string | undefined {
  return [join(root, "lib"), join(root, "lib", MULTIARCH), join(root, "lib64")].find((folder) =>
    ["libtorch_cpu.so", "libc10.so"].every((name) => isFile(join(folder, name))),
  );
}

function readVersion(root: string, include: string, libDir: string): string {
  const python = readTextIfThere(join(root, "version.py"));
  const fromPython = /^__version__ = ['"]([^'"]+)['"]/m.exec(python ?? "")?.[1];
  if (fromPython) return fromPython;

  for (const header of ["torch/csrc/api/include/torch/version.h", "torch/headeronly/version.h"]) {
    const text = readTextIfThere(join(include, header)) ?? "";
    const part = (name: string) =>
      new RegExp(`#define TORCH_VERSION_${name} (\\d+)`).exec(text)?.[1];
    const parts = [part("MAJOR"), part("MINOR"), part("PATCH")];
    if (parts.every((value) => value !== undefined)) return parts.join(".");
  }

  for (const name of namesIn(libDir).reverse()) {
    const fromName = /^libtorch_cpu\.so\.(\d+\.\d+.*)$/.exec(name)?.[1];
    if (fromName) return fromName;
  }
  throw new SetupError(
    `Cannot tell the version of the libtorch in ${root}: no version.py, no torch/version.h and no ` +
      "libtorch_cpu.so.<version>. Is it complete? Unpack or install it again.",
  );
}

function isOlder(version: string, than: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map((part) => Number.parseInt(part, 10));
  const [thanMajor = 0, thanMinor = 0] = than.split(".").map(Number);
  return major !== thanMajor ? major < thanMajor : minor < thanMinor;
}

/**
 * The same answer as Python's torch._C._GLIBCXX_USE_CXX11_ABI, without Python: the constructor
 * c10::Error(SourceLocation, std::string) has the old string type ("Ss") in its name or the new one.
 * (That "__cxx11" occurs somewhere proves nothing: old wheels contain it too.)
 */
function usesCxx11Abi(libc10: string): boolean {
  return !readFileSync(libc10).includes("_ZN3c105ErrorC1ENS_14SourceLocationESs\0");
}

/** libtorch's headers refuse an older standard with an #error, and say there which one they need. */
function cxxStandard(include: string): "c++17" | "c++20" {
  const text = readFileSync(join(include, "ATen/ATen.h"), "utf8");
  return /__cplusplus < 202002L/.test(text) ? "c++20" : "c++17";
}
