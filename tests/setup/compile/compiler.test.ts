/** @file The compiler's choice and its options. */

import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  compileOptions,
  cudaOptions,
  findCompiler,
  linkOptions,
} from "../../../src/setup/compile/compiler.ts";
import { firstError, warnings } from "../../../src/setup/compile/diagnosis.ts";
import type { Libtorch } from "../../../src/setup/libtorch/libtorch.ts";
import { runCommand } from "../../../src/setup/support/command.ts";
import { temporaryFolder, writeFiles } from "../fakes.ts";

const libtorch: Libtorch = {
  origin: "python",
  root: "/t",
  includeDirs: ["/t/include"],
  libDir: "/t/lib",
  version: "2.15.0",
  cxx11Abi: false,
  cuda: true,
  glooHeaders: "/opt/include",
  cxxStandard: "c++20",
};
const target = { libtorch, nodeHeaders: "/n/include", sources: "/s", linkCuda: false };

describe("options", () => {
  it("follow the libtorch", () => {
    const options = compileOptions(target);
    expect(options).toEqual(
      expect.arrayContaining(["-std=c++20", "-D_GLIBCXX_USE_CXX11_ABI=0", "-DUSE_C10D_GLOO"]),
    );
    expect(options.join(" ")).toContain("-isystem /t/include -isystem /n/include");
    expect(options.at(-1)).toBe("/opt/include");
    expect(cudaOptions(target)).toEqual([]);
  });

  it("leave Gloo out where it has no headers", () => {
    const without = { ...target, libtorch: { ...libtorch, glooHeaders: null } };
    expect(compileOptions(without).join(" ")).not.toMatch(/GLOO|idirafter/);
  });

  it("never name /usr/include, which would reorder the compiler's own folders", () => {
    const system = { ...libtorch, includeDirs: ["/usr/include"], glooHeaders: "/usr/include" };
    expect(compileOptions({ ...target, libtorch: system }).join(" ")).not.toContain("/usr/include");
  });

  it("link CUDA only on request, and no OpenMP runtime", () => {
    expect(linkOptions(target)).toContain("-Wl,-rpath,/t/lib");
    expect(linkOptions(target).join(" ")).not.toMatch(/cuda|gomp|fopenmp/);
    const cuda = { ...target, linkCuda: true, cudaHeaders: ["/c/include"] };
    expect(linkOptions(cuda)).toContain("-ltorch_cuda");
    expect(cudaOptions(cuda)).toEqual(["-DOPENMANUS_CUDA", "-idirafter", "/c/include"]);
  });
});

describe("findCompiler", () => {
  it("finds g++ on the PATH", async () => {
    const folder = writeFiles(temporaryFolder(), {
      "g++!": "#!/bin/sh\necho 'g++ 12.2'\necho more\n",
    });
    const compiler = await findCompiler({ PATH: folder }, runCommand);
    expect(compiler).toEqual({ path: join(folder, "g++"), version: "g++ 12.2" });
  });
  it("is undefined without one", async () => {
    expect(await findCompiler({ PATH: temporaryFolder() }, runCommand)).toBeUndefined();
  });
  it("does not pass over a CXX that does not work", async () => {
    const attempt = findCompiler({ CXX: "g++-99", PATH: temporaryFolder() }, runCommand);
    await expect(attempt).rejects.toThrow(/CXX=g\+\+-99 is not a compiler that runs.*unset it/s);
  });
});

describe("firstError", () => {
  it("takes the first error and its explanation, not what follows from it", () => {
    const output = [
      "In file included from a.h:1,",
      "a.cc:10:2: warning: unused",
      "a.cc:17:7: error: 'X' is not a member of 'at'",
      "   17 |   at::X x;",
      "      |       ^",
      "a.cc:18:7: error: 'x' was not declared",
    ].join("\n");
    expect(firstError(output)).toBe(output.split("\n").slice(2, 5).join("\n"));
  });
  it("knows the linker", () => {
    const output =
      "noise\n/usr/bin/ld: cannot find -ltorch_cpu: No such file\ncollect2: ld returned 1";
    expect(firstError(output)).toMatch(/^\/usr\/bin\/ld: cannot find -ltorch_cpu/);
  });
  it("explains a killed compiler", () => {
    const output =
      "g++: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.";
    expect(firstError(output)).toMatch(/ran out of memory/);
  });
  it("shows the end of anything else", () => {
    expect(firstError("1\n2\n3\n4\n5\n6\n7\n")).toBe("3\n4\n5\n6\n7");
  });
});

it("lists each warning once", () => {
  const line = "a.cc:1:2: warning: 'root' may be used uninitialized";
  expect(warnings(`${line}\n  1 | x\n${line}\n`)).toEqual([line]);
});
