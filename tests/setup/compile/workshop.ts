/** @file A make-believe checkout, libtorch and compiler, for tests of the build. */

import { join } from "node:path";
import { type BuildOptions, buildAddon } from "../../../src/setup/compile/build.ts";
import { describeLibtorch } from "../../../src/setup/libtorch/libtorch.ts";
import { type CommandResult, type Run, runCommand } from "../../../src/setup/support/command.ts";
import { fakeLibtorch, temporaryFolder, writeFiles } from "../fakes.ts";

/** Writes its output file, and fails on sources that say so. */
const COMPILER = `#!/bin/sh
for argument; do
  case "$previous" in -o) output="$argument" ;; -c) source="$argument" ;; esac
  previous="$argument"
done
if [ -n "$source" ] && grep -q BROKEN "$source"; then
  echo "half" > "$output"
  echo "$source:1:1: error: expected a better program" >&2
  exit 1
fi
echo made > "$output"
`;

export function workshop(files: Record<string, string> = { "a.cc": "int a;", "b.cc": "int b;" }) {
  const folder = temporaryFolder();
  writeFiles(join(folder, "native"), files);
  writeFiles(folder, { "g++!": COMPILER });
  const root = fakeLibtorch(join(folder, "libtorch"));
  const loads: Partial<CommandResult>[] = [];
  const links: string[] = [];
  const lines: string[] = [];
  const run: Run = (command, args, options) => {
    if (args.includes("-shared")) links.push(args.join(" "));
    if (command !== process.execPath) return runCommand(command, args, options);
    return Promise.resolve({ status: 0, stdout: "", stderr: "", ...loads.shift() });
  };
  const options: BuildOptions = {
    target: {
      libtorch: describeLibtorch(root, "environment", []),
      nodeHeaders: "/n",
      sources: join(folder, "native"),
      linkCuda: false,
    },
    compiler: { path: join(folder, "g++"), version: "g++ 1" },
    folder: join(folder, "build"),
    cpu: "cpu",
    jobs: 2,
    run,
    report: (line) => lines.push(line),
  };
  const build = (changes: Partial<BuildOptions> = {}) => buildAddon({ ...options, ...changes });
  return { folder, options, build, loads, links, lines };
}
