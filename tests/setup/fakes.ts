/**
 * @file Temporary folders, make-believe libtorchs and programs for the set-up tests.
 */

import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import type { CommandResult, Run } from "../../src/setup/support/command.ts";

/** A folder that is removed when the test ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "openmanus-setup-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Writes files given as path → text; a path that ends in "!" becomes an executable. */
export function writeFiles(folder: string, files: Readonly<Record<string, string>>): string {
  for (const [name, text] of Object.entries(files)) {
    const path = join(folder, name.replace(/!$/, ""));
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    if (name.endsWith("!")) chmodSync(path, 0o755);
  }
  return folder;
}

const NEW_ABI = "_ZN3c105ErrorC1ENS_14SourceLocationENSt7__cxx1112basic_stringIcSaIcEEE\0";
const OLD_ABI = "_ZN3c105ErrorC1ENS_14SourceLocationESs\0something::__cxx11\0";

export interface FakeLibtorch {
  libraries?: string;
  version?: string;
  oldAbi?: boolean;
  standard?: string;
  cuda?: boolean;
}

/** The files of an unpacked libtorch, as far as set-up looks at them. */
export function fakeLibtorch(folder: string, options: FakeLibtorch = {}): string {
  const { libraries = "lib", version = "2.1.3", standard = "201703L" } = options;
  const [major, minor, patch] = version.split(".");
  return writeFiles(folder, {
    "include/ATen/ATen.h": `#if __cplusplus < ${standard}\n#error\n#endif\n`,
    "include/torch/csrc/api/include/torch/version.h": [
      `#define TORCH_VERSION_MAJOR ${major}`,
      `#define TORCH_VERSION_MINOR ${minor}`,
      `#define TORCH_VERSION_PATCH ${patch}`,
    ].join("\n"),
    [`${libraries}/libtorch_cpu.so`]: "library",
    [`${libraries}/libc10.so`]: `\0${options.oldAbi ? OLD_ABI : NEW_ABI}`,
    ...(options.cuda ? { [`${libraries}/libtorch_cuda.so`]: "library" } : {}),
  });
}

export interface FakeRun {
  run: Run;
  /** Every command line that was run. */
  lines: string[];
}

/** Answers by the first pattern that the command line matches; anything else succeeds silently. */
export function fakeRun(answers: readonly [RegExp, Partial<CommandResult>][]): FakeRun {
  const lines: string[] = [];
  const run: Run = async (command, args) => {
    const line = [command, ...args].join(" ");
    lines.push(line);
    const answer = answers.find(([pattern]) => pattern.test(line))?.[1];
    return { status: 0, stdout: "", stderr: "", ...answer };
  };
  return { run, lines };
}
