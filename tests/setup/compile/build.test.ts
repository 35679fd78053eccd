/** @file What is compiled when, with a make-believe compiler; and once with the real one. */

import {
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { pruneBuilds } from "../../../src/setup/cache/prune.ts";
import { type BuildOptions, buildAddon } from "../../../src/setup/compile/build.ts";
import { findCompiler } from "../../../src/setup/compile/compiler.ts";
import { findLibtorch } from "../../../src/setup/libtorch/find.ts";
import { describeLibtorch } from "../../../src/setup/libtorch/libtorch.ts";
import { nodeHeaders } from "../../../src/setup/machine/node-headers.ts";
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

function workshop(files: Record<string, string> = { "a.cc": "int a;", "b.cc": "int b;" }) {
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

describe("buildAddon", () => {
  it("builds everything once, then nothing", async () => {
    const { build, lines, folder } = workshop();
    const first = await build();
    expect(first.compiled).toBe(2);
    expect(first.addon).toMatch(/build\/2\.1\.3-[0-9a-f]{16}\/openmanus\.node$/);
    expect(readFileSync(first.addon, "utf8")).toBe("made\n");
    expect(lines[0]).toBe("building native (2 files of 2) for libtorch 2.1.3 (environment) …");
    expect(lines.at(-1)).toMatch(/^built native in \d+\.\d s$/);
    expect(await build()).toEqual({ ...first, compiled: 0 });
    const leftovers = readdirSync(folder, { recursive: true }).filter((name) =>
      String(name).endsWith(".temporary"),
    );
    expect(leftovers).toEqual([]);
  });

  it("recompiles only a changed file, and only those that include a changed header", async () => {
    const { build, folder } = workshop({
      "a.cc": '#include "deep/one.h"\n',
      "b.cc": "int b;",
      "deep/c.cc": '  #  include "two.h"\n',
      "deep/one.h": '#pragma once\n#include "two.h"\n#include "gone.h"\n',
      "deep/two.h": '#pragma once\n#include "one.h"\n',
    });
    expect((await build()).compiled).toBe(3);
    writeFiles(folder, { "native/b.cc": "int changed;" });
    expect((await build()).compiled).toBe(1);
    writeFiles(folder, { "native/deep/two.h": "// changed" });
    expect((await build()).compiled).toBe(2);
    writeFiles(folder, { "native/new.cc": "int c;" });
    expect((await build()).compiled).toBe(1);
  });

  it("rebuilds for another CPU, compiler, option or libtorch, and remembers each", async () => {
    const { build, options, folder } = workshop();
    const first = await build();
    const compiler = { ...options.compiler, version: "g++ 2" };
    const other = fakeLibtorch(join(folder, "other"), { version: "2.2.0" });
    const libtorch = describeLibtorch(other, "python", []);
    const variants: Partial<BuildOptions>[] = [
      { cpu: "other" },
      { compiler },
      { target: { ...options.target, linkCuda: true } },
      { target: { ...options.target, libtorch } },
    ];
    const addons = new Set([first.addon]);
    for (const variant of variants) {
      const { addon, compiled } = await build(variant);
      expect(compiled).toBe(2);
      addons.add(addon);
    }
    expect(addons.size).toBe(variants.length + 1);
    for (const variant of variants) expect((await build(variant)).compiled).toBe(0);
    expect((await build()).compiled).toBe(0);
  });

  it("does not keep an object of a file that was edited while it was compiled", async () => {
    const { build, options, folder, lines } = workshop();
    const run: Run = async (command, args, runOptions) => {
      const result = await options.run(command, args, runOptions);
      if (args.includes("native/a.cc")) {
        writeFiles(folder, { "native/a.cc": "int edited;" });
      }
      return result;
    };
    await build({ run });
    expect(lines).toContain("sources were edited meanwhile, so once more:");
    // The text from before the edit was never compiled, whatever its name promises.
    writeFiles(folder, { "native/a.cc": "int a;" });
    expect((await build()).compiled).toBe(1);
  });

  it("compiles nothing in a second checkout, wherever that and its node_modules lie", async () => {
    const { build, options, folder, links } = workshop({
      "a.cc": '#include "deep/one.h"\n',
      "deep/one.h": "#include <ATen/ATen.h>\n",
      "b.cc": "int b;",
    });
    const headers = { "node_api.h": "int node;", "js_native_api.h": "int js;" };
    const first = await build({
      target: { ...options.target, nodeHeaders: writeFiles(join(folder, "modules"), headers) },
    });
    expect(first.compiled).toBe(2);

    const second = temporaryFolder();
    cpSync(join(folder, "native"), join(second, "native"), { recursive: true });
    const target = {
      ...options.target,
      sources: join(second, "native"),
      nodeHeaders: writeFiles(join(second, "modules"), headers),
    };
    expect(await build({ target })).toEqual({ ...first, compiled: 0 });
    expect(links).toHaveLength(1);

    // Other headers of Node are another matter, and so is one edited file.
    writeFiles(second, { "modules/node_api.h": "int other;" });
    expect((await build({ target })).compiled).toBe(2);
    writeFiles(second, { "native/b.cc": "int changed;" });
    expect((await build({ target })).compiled).toBe(1);
  });

  it("makes the same object from every checkout", async () => {
    const { libtorch } = await findLibtorch();
    const compiler = await findCompiler(process.env, runCommand);
    if (libtorch === undefined || compiler === undefined) throw new Error("set-up has not run");
    const text = `#include <node_api.h>
      #include "place.h"
      NAPI_MODULE_INIT() {
        napi_value value;
        napi_create_string_utf8(env, place(__FILE__), NAPI_AUTO_LENGTH, &value);
        return value;
      }`;
    const header =
      "#include <cstdio>\ninline const char* place(const char* at) { puts(__FILE__); return at; }\n";
    const objects = [];
    for (const name of ["one", "another folder"]) {
      const { build, options, folder } = workshop({});
      const sources = join(folder, name, "native");
      writeFiles(sources, { "deep/a.cc": text, "place.h": header });
      const target = { ...options.target, libtorch, nodeHeaders: nodeHeaders(), sources };
      const { addon } = await build({ target, compiler, run: runCommand });
      const made = readdirSync(join(options.folder, "objects"));
      objects.push([made, made.map((file) => readFileSync(join(options.folder, "objects", file)))]);
      const program = ["-e", "console.log(require(process.argv[1]))", addon];
      const { stdout } = await runCommand(process.execPath, program);
      expect(stdout.split("\n").sort()).toEqual(["", "native/deep/a.cc", "native/place.h"]);
    }
    expect(objects[0]).toEqual(objects[1]);
  });

  it("rebuilds when the library itself was replaced", async () => {
    const { build, options } = workshop();
    await build();
    const library = join(options.target.libtorch.libDir, "libtorch_cpu.so");
    utimesSync(library, 1, 1);
    expect((await build()).compiled).toBe(2);
  });

  it("shows the compiler's first error, keeps the log, leaves nothing half-written", async () => {
    const { build, folder } = workshop({ "a.cc": "BROKEN", "b.cc": "int b;", "c.cc": "BROKEN" });
    await expect(build({ jobs: 1 })).rejects.toThrow(
      new RegExp(
        "^compiling a\\.cc failed:\n {2}native/a\\.cc:1:1: error: expected a better program\n" +
          "Built against libtorch 2\\.1\\.3 [\\s\\S]*npm run setup\\. The full log: .*build\\.log$",
      ),
    );
    expect(readFileSync(join(folder, "build/build.log"), "utf8")).toContain("-c native/a.cc");
    expect(readdirSync(join(folder, "build/objects"))).toEqual([]);
    writeFileSync(join(folder, "native/a.cc"), "int a;");
    writeFileSync(join(folder, "native/c.cc"), "int c;");
    expect((await build()).compiled).toBe(3);
  });

  it("does not keep an addon that does not load", async () => {
    const { build, loads, folder } = workshop();
    const stderr =
      "node:internal\nError: /x.node: undefined symbol: _ZN3c104somethingE\n    at x\n";
    loads.push({ status: 1, stderr });
    await expect(build()).rejects.toThrow(
      /loading the addon failed:\n {2}\/x\.node: undefined symbol: _ZN3c104somethingE\n/,
    );
    const nodes = readdirSync(join(folder, "build"), { recursive: true }).map(String);
    expect(nodes.filter((name) => name.includes(".node"))).toEqual([]);
    // The objects were good: the next attempt only links.
    expect((await build()).compiled).toBe(0);
  });

  it("links an OpenMP runtime only where libtorch brings none", async () => {
    const { build, loads, links } = workshop();
    loads.push({ status: 1, stderr: "Error: /x.node: undefined symbol: GOMP_parallel\n" });
    await build();
    expect(links.map((line) => line.includes("-fopenmp"))).toEqual([false, true]);
  });

  it("parses libtorch's headers once for the files that include them", async () => {
    const files = {
      "a.cc": "#include <ATen/ATen.h>\n",
      "b.cc": '#include "b.h"\n',
      "b.h": "#include <ATen/ATen.h>\n",
      "c.cc": "#include <ATen/ATen.h>\n",
      "d.cc": "#include <ATen/core/Tensor.h>\n",
    };
    const { build, options, folder } = workshop(files);
    const commands: string[] = [];
    const run: Run = (command, args, runOptions) => {
      commands.push(args.join(" "));
      return options.run(command, args, runOptions);
    };
    await build({ run });
    expect(commands.filter((line) => line.includes("c++-header"))).toHaveLength(1);
    const users = commands.filter((line) => line.includes("-include "));
    expect(users.map((line) => /native\/(.)\.cc/.exec(line)?.[1]).sort()).toEqual(["a", "b", "c"]);

    // It is there now, so even one file uses it, and what they are made of is still the same.
    commands.length = 0;
    writeFiles(folder, { "native/a.cc": "#include <ATen/ATen.h>\nint a;\n" });
    expect((await build({ run })).compiled).toBe(1);
    expect(commands[0]).toContain("-include ");
  });

  it("does without where it is not worthwhile, not g++, or does not work", async () => {
    const aten = { "a.cc": "#include <ATen/ATen.h>\n", "b.cc": "#include <ATen/ATen.h>\n" };
    const attempts: [Record<string, string>, Partial<BuildOptions>][] = [
      [aten, {}],
      [{ ...aten, "c.cc": aten["a.cc"] }, { compiler: { path: "clang++", version: "clang 15" } }],
    ];
    for (const [files, changes] of attempts) {
      const { build, options } = workshop(files);
      const path = options.compiler.path;
      const compiler = { ...options.compiler, ...changes.compiler, path };
      const result = await build({ compiler });
      expect(result.compiled).toBe(Object.keys(files).length);
      expect(existsSync(join(options.folder, "precompiled"))).toBe(false);
    }
    const { build, options, links } = workshop({ ...aten, "c.cc": aten["a.cc"] });
    const run: Run = (command, args, runOptions) =>
      args.includes("c++-header")
        ? Promise.resolve({ status: 1, stdout: "", stderr: "" })
        : options.run(command, args, runOptions);
    expect((await build({ run })).compiled).toBe(3);
    expect(links).toHaveLength(1);
  });

  it("has something to say about a folder without sources", async () => {
    const { build } = workshop({ "readme.txt": "" });
    await expect(build()).rejects.toThrow(/No C\+\+ sources/);
  });

  it("can run twice at once", async () => {
    const { build } = workshop();
    const [one, two] = await Promise.all([build(), build()]);
    expect(one!.addon).toBe(two!.addon);
    expect(statSync(one!.addon).size).toBe(5);
    // The second waited for the first, and then had nothing left to compile.
    expect([one!.compiled, two!.compiled].sort()).toEqual([0, 2]);
  });

  it("works with the real compiler and libtorch", async () => {
    const { libtorch } = await findLibtorch();
    const compiler = await findCompiler(process.env, runCommand);
    if (libtorch === undefined || compiler === undefined) throw new Error("set-up has not run");
    const { build, options, folder } = workshop({
      "answer.cc": `#include <node_api.h>
        NAPI_MODULE_INIT() {
          int total = 0;
          #pragma omp parallel for reduction(+ : total)
          for (int i = 0; i < 42; ++i) total += 1;
          napi_value value;
          napi_create_int32(env, total, &value);
          return value;
        }`,
    });
    const target = { ...options.target, libtorch, nodeHeaders: nodeHeaders() };
    const { addon } = await build({ target, compiler, run: runCommand });
    expect(existsSync(addon)).toBe(true);
    const program = ["-e", "console.log(require(process.argv[1]))", addon];
    expect((await runCommand(process.execPath, program)).stdout).toBe("42\n");

    writeFiles(folder, { "native/answer.cc": "#include <node_api.h>\nint x = missing;\n" });
    await expect(build({ target, compiler, run: runCommand })).rejects.toThrow(
      /answer\.cc:2:9: error: .*missing/,
    );
  });
});

describe("nodeHeaders", () => {
  it("finds them beside node, else in the npm package", () => {
    const prefix = writeFiles(temporaryFolder(), { "include/node/node_api.h": "", "bin/node": "" });
    expect(nodeHeaders(join(prefix, "bin/node"))).toBe(join(prefix, "include/node"));
    const entry = createRequire(import.meta.url).resolve("node-api-headers");
    expect(nodeHeaders("/nowhere/bin/node")).toBe(join(entry, "../include"));
  });
});

describe("pruneBuilds", () => {
  it("keeps what is in use and what was used last", () => {
    const folder = temporaryFolder();
    const addons = Array.from({ length: 27 }, (_, index) =>
      join(folder, `${index}/openmanus.node`),
    );
    for (const [index, path] of addons.entries()) {
      writeFiles(folder, { [`${index}/openmanus.node`]: "" });
      utimesSync(path, 1000 + index, 1000 + index);
    }
    const abandoned = ["objects/x.o.1.temporary", "precompiled/x/libtorch.h.gch.1.temporary"];
    writeFiles(folder, { "build.log": "", [abandoned[0]!]: "", [abandoned[1]!]: "" });
    for (const name of abandoned) utimesSync(join(folder, name), 1, 1);
    pruneBuilds(folder, addons[0]!);
    expect(addons.map((path) => existsSync(path))).toEqual([
      true,
      false,
      false,
      ...Array(24).fill(true),
    ]);
    for (const name of abandoned) expect(existsSync(join(folder, name)), name).toBe(false);
    expect(existsSync(join(folder, "build.log"))).toBe(true);
  });
});
