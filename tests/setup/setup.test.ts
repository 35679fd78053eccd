/** @file The whole set-up in a make-believe checkout, and what it says when something is missing. */

import { cpSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { setUp } from "../../src/setup/setup.ts";
import { locateAddon } from "../../src/setup/stamp/stamp.ts";
import { type Run, runCommand } from "../../src/setup/support/command.ts";
import { fakeLibtorch, fakeRun, temporaryFolder, writeFiles } from "./fakes.ts";

const COMPILER = `#!/bin/sh
if [ "$1" = --version ]; then echo "g++ 1"; exit 0; fi
for argument; do [ "$previous" = -o ] && echo made > "$argument"; previous="$argument"; done
`;

function checkout() {
  const root = temporaryFolder();
  writeFiles(root, {
    "native/a.cc": "int a;",
    "native/deep/b.cc": "int b;",
    "tools/g++!": COMPILER,
  });
  const environment = {
    OPENMANUS_LIBTORCH: fakeLibtorch(join(root, "libtorch")),
    OPENMANUS_CACHE: join(root, "cache"),
    PATH: `${join(root, "tools")}:/usr/bin:/bin`,
  };
  // The make-believe addon does not load; everything else really runs.
  const run: Run = (command, args, options) =>
    runCommand(command === process.execPath ? "true" : command, args, options);
  const lines: string[] = [];
  const report = (line: string) => lines.push(line);
  return { root, environment, lines, options: { root, environment, run, report } };
}

describe("setUp", () => {
  it("builds, leaves a stamp that locateAddon finds, and has nothing to do again", async () => {
    const { root, environment, options, lines } = checkout();
    const stamp = await setUp(options);
    expect(stamp).toMatchObject({ compiler: "g++ 1", nodeAbi: process.versions.modules });
    expect(stamp.libtorch).toMatchObject({ origin: "environment", version: "2.1.3" });
    expect(locateAddon(root, environment)).toEqual(stamp);
    expect(Object.keys(stamp.facts.files)).toEqual(
      expect.arrayContaining([
        ...[join(root, "native"), join(root, "native/deep/b.cc"), join(root, "package-lock.json")],
        ...[join(root, "libtorch/lib/libtorch_cpu.so"), join(root, "tools/g++")],
      ]),
    );
    const before = lines.length;
    expect((await setUp(options)).addon).toBe(stamp.addon);
    expect(lines.slice(before).filter((line) => line.includes("building"))).toEqual([]);
  });

  it("keeps builds in the user's cache, which a second checkout shares", async () => {
    const { root, environment, options, lines } = checkout();
    const first = await setUp(options);
    expect(dirname(dirname(first.addon))).toBe(join(root, "cache/native"));
    expect(statSync(join(root, "cache/native")).mode & 0o777).toBe(0o700);

    const second = temporaryFolder();
    cpSync(join(root, "native"), join(second, "native"), { recursive: true });
    const before = lines.length;
    const stamp = await setUp({ ...options, root: second });
    expect(stamp.addon).toBe(first.addon);
    expect(lines.slice(before)).toContain(
      `the native addon is there already, in ${join(root, "cache/native")}`,
    );
    expect(locateAddon(second, environment).addon).toBe(first.addon);
  });

  it("builds in the package, and says so, where the cache cannot be used", async () => {
    const { root, environment, options, lines } = checkout();
    writeFiles(root, { "a-file": "" });
    const OPENMANUS_CACHE = join(root, "a-file/cache");
    const stamp = await setUp({ ...options, environment: { ...environment, OPENMANUS_CACHE } });
    expect(dirname(dirname(stamp.addon))).toBe(join(root, "build/native"));
    expect(lines).toContain(
      `${OPENMANUS_CACHE} cannot be written to (ENOTDIR); building in ${join(root, "build/native")} instead`,
    );
  });

  it("builds anew when a source changes", async () => {
    const { root, options, lines } = checkout();
    const first = await setUp(options);
    writeFiles(root, { "native/a.cc": "int changed;" });
    const second = await setUp(options);
    expect(second.sourceHash).not.toBe(first.sourceHash);
    expect(lines).toContainEqual(expect.stringContaining("building native (1 file of 2)"));
  });

  it("installs libtorch by package name when there is none, and says so when that does not help", async () => {
    const { options } = checkout();
    const { run, lines } = fakeRun([[/^apt-cache/, { stdout: "  Candidate: 1\n".repeat(3) }]]);
    const environment = { PATH: temporaryFolder(), OPENMANUS_CACHE: temporaryFolder() };
    const attempt = setUp({ ...options, run, environment, systemPrefixes: [] });
    await expect(attempt).rejects.toThrow(/no usable libtorch, even after installing/);
    expect(lines.at(-1)).toMatch(/install .* libtorch-dev libgloo-dev libopenblas0-pthread$/);
  });

  it("installs a compiler when there is none", async () => {
    const { options, environment } = checkout();
    const { run, lines } = fakeRun([[/^apt-cache/, { stdout: "  Candidate: 1\n" }]]);
    const attempt = setUp({
      ...options,
      run,
      environment: { ...environment, PATH: temporaryFolder() },
    });
    await expect(attempt).rejects.toThrow(/no C\+\+ compiler\. Install g\+\+/);
    expect(lines.at(-1)).toMatch(/install --no-install-recommends g\+\+$/);
  });
});
