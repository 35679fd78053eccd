/** @file What is compiled when, with a make-believe compiler; and once with the real one. */

import {
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { BuildOptions } from "../../../src/setup/compile/build.ts";
import { findCompiler } from "../../../src/setup/compile/compiler.ts";
import { findLibtorch } from "../../../src/setup/libtorch/find.ts";
import { describeLibtorch } from "../../../src/setup/libtorch/libtorch.ts";
import { nodeHeaders } from "../../../src/setup/machine/node-headers.ts";
import { type Run, runCommand } from "../../../src/setup/support/command.ts";
import { fakeLibtorch, writeFiles } from "../fakes.ts";
import { workshop } from "./workshop.ts";

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

  it("compiles for CUDA only what asks for it", async () => {
    const { build, options } = workshop({
      "a.cc": "int a;",
      "b.cc": "#ifdef OPENMANUS_CUDA\n#endif",
    });
    const plain = await build();
    const target = { ...options.target, linkCuda: true, cudaHeaders: ["/cuda/include"] };
    const withCuda = await build({ target });
    expect([plain.compiled, withCuda.compiled]).toEqual([2, 1]);
    expect(withCuda.addon).not.toBe(plain.addon);
    expect((await build({ target: { ...target, cudaHeaders: ["/other"] } })).compiled).toBe(1);
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
