/** @file Reading a libtorch's folder: layouts, version, ABI, what it needs. */

import { renameSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { describeLibtorch } from "../../../src/setup/libtorch/libtorch.ts";
import { SetupError } from "../../../src/setup/support/errors.ts";
import { fakeLibtorch, temporaryFolder, writeFiles } from "../fakes.ts";

const multiarch = process.arch === "arm64" ? "aarch64-linux-gnu" : "x86_64-linux-gnu";

describe("describeLibtorch", () => {
  it("reads an unpacked libtorch", () => {
    const root = fakeLibtorch(temporaryFolder());
    expect(describeLibtorch(root, "environment", [])).toEqual({
      origin: "environment",
      root,
      includeDirs: [join(root, "include"), join(root, "include/torch/csrc/api/include")],
      libDir: join(root, "lib"),
      version: "2.1.3",
      cxx11Abi: true,
      cuda: false,
      glooHeaders: null,
      cxxStandard: "c++17",
    });
  });

  it("reads a prefix with multiarch libraries", () => {
    const root = fakeLibtorch(temporaryFolder(), { libraries: `lib/${multiarch}` });
    expect(describeLibtorch(root, "system", []).libDir).toBe(join(root, "lib", multiarch));
  });

  it.each([["torch"], ["libtorch"], ["lib/python3.11/site-packages/torch"]])(
    "finds it in %s below the named folder",
    (place) => {
      const folder = temporaryFolder();
      fakeLibtorch(join(folder, place));
      expect(describeLibtorch(folder, "environment", []).root).toBe(join(folder, place));
    },
  );

  it("prefers a Python torch's own version to its headers'", () => {
    const root = fakeLibtorch(temporaryFolder());
    writeFiles(root, {
      "version.py": "from x import y\n__version__ = '2.15.0+cu132'\ndebug = False\n",
    });
    expect(describeLibtorch(root, "python", []).version).toBe("2.15.0+cu132");
  });

  it("takes the version from the library's name when nothing else tells", () => {
    const root = fakeLibtorch(temporaryFolder());
    const header = join(root, "include/torch/csrc/api/include/torch/version.h");
    renameSync(header, `${header}.gone`);
    expect(() => describeLibtorch(root, "system", [])).toThrow(/Cannot tell the version/);
    writeFiles(root, { "lib/libtorch_cpu.so.1.13.0": "" });
    expect(describeLibtorch(root, "system", []).version).toBe("1.13.0");
  });

  it("tells the old string ABI from the new", () => {
    const old = fakeLibtorch(temporaryFolder(), { oldAbi: true });
    expect(describeLibtorch(old, "environment", []).cxx11Abi).toBe(false);
  });

  it("sees that headers want C++20, and that it is a CUDA build", () => {
    const root = fakeLibtorch(temporaryFolder(), { standard: "202002L", cuda: true });
    expect(describeLibtorch(root, "python", [])).toMatchObject({
      cxxStandard: "c++20",
      cuda: true,
    });
  });

  it("looks for Gloo's headers in the libtorch, then in the system", () => {
    const root = fakeLibtorch(temporaryFolder());
    const system = writeFiles(temporaryFolder(), { "gloo/algorithm.h": "" });
    expect(describeLibtorch(root, "python", [system]).glooHeaders).toBe(system);
    writeFiles(root, { "include/gloo/algorithm.h": "" });
    expect(describeLibtorch(root, "python", [system]).glooHeaders).toBe(join(root, "include"));
  });

  it("refuses one that is too old", () => {
    const root = fakeLibtorch(temporaryFolder(), { version: "1.9.1" });
    expect(() => describeLibtorch(root, "environment", [])).toThrow(/is 1\.9\.1; 1\.13 or newer/);
  });

  it("says what is missing", () => {
    const folder = temporaryFolder();
    const attempt = () => describeLibtorch(folder, "environment", []);
    expect(attempt).toThrow(SetupError);
    expect(attempt).toThrow(/no include\/ATen\/ATen\.h/);
    writeFiles(folder, { "include/ATen/ATen.h": "" });
    expect(attempt).toThrow(/no lib\/libtorch_cpu\.so/);
    expect(() => describeLibtorch(join(folder, "nowhere"), "environment", [])).toThrow(
      /nowhere is not a libtorch: there is no such folder/,
    );
  });
});
