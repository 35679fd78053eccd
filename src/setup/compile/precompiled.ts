/**
 * @file libtorch's headers, parsed once for all the files that include them.
 *
 * <ATen/ATen.h> alone takes the compiler some six seconds, more than most of our files take after
 * it. g++ can keep the parsed form (some 300 MB); a compiler of another make does
 * without. Only sources that include that header anyway get it, so what they mean stays the same.
 */

import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Run } from "../support/command.ts";
import { isFile, markUsed, temporaryName } from "../support/files.ts";
import type { Compiler } from "./compiler.ts";

/** With fewer files than this to compile, parsing the header ahead costs more than it saves. */
const WORTHWHILE = 3;

export interface PrecompiledOptions {
  readonly compiler: Compiler;
  /** The options of the compilation it is for; g++ ignores a header made with others. */
  readonly compile: readonly string[];
  /** Where it is kept, named by everything it depends on. */
  readonly folder: string;
  /** Where the compilation runs. */
  readonly runIn: string;
  /** How many files are about to use it. */
  readonly users: number;
  readonly run: Run;
  readonly signal: AbortSignal;
}

/** The options that make a compilation use the header; none where it is not worth it or fails. */
export async function precompiledHeader(options: PrecompiledOptions): Promise<string[]> {
  const { compiler, compile, folder, users, run, signal } = options;
  const header = join(folder, "libtorch.h");
  const precompiled = `${header}.gch`;
  if (isFile(precompiled)) {
    markUsed(precompiled);
    return ["-include", header];
  }
  if (users < WORTHWHILE || !/g\+\+|gcc/i.test(compiler.version)) return [];

  mkdirSync(folder, { recursive: true });
  writeFileSync(header, "#include <ATen/ATen.h>\n");
  const temporary = temporaryName(precompiled);
  const args = [...compile, "-x", "c++-header", header, "-o", temporary];
  const { status } = await run(compiler.path, args, { signal, folder: options.runIn });
  // If libtorch's headers do not compile, the first source that includes them says why.
  if (status !== 0 || !isFile(temporary)) {
    rmSync(temporary, { force: true });
    return [];
  }
  renameSync(temporary, precompiled);
  return ["-include", header];
}
