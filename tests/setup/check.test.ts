/** @file What doctor says before set-up: what is there, and what is missing. */

import { join } from "node:path";
import { expect, it } from "vitest";
import { checkSetup } from "../../src/setup/check.ts";
import { runCommand } from "../../src/setup/support/command.ts";
import { fakeLibtorch, fakeRun, temporaryFolder, writeFiles } from "./fakes.ts";

it("finds what is there, and installs nothing", async () => {
  const folder = writeFiles(temporaryFolder(), { "g++!": "#!/bin/sh\necho 'g++ 12.2'\n" });
  const root = fakeLibtorch(join(folder, "libtorch"));
  const environment = { OPENMANUS_LIBTORCH: root, PATH: folder };
  expect(await checkSetup(environment, runCommand)).toMatchObject({
    libtorch: { version: "2.1.3", origin: "environment", root },
    compiler: "g++ 12.2",
    notes: [],
  });
});

it("says what is missing, and which wish cannot be met", async () => {
  const { run, lines } = fakeRun([]);
  const environment = { OPENMANUS_LIBTORCH: "/nowhere", PATH: temporaryFolder() };
  const { libtorch, compiler, notes } = await checkSetup(environment, run);
  expect({ libtorch, compiler }).toEqual({ libtorch: null, compiler: null });
  expect(notes).toEqual([
    expect.stringMatching(/^OPENMANUS_LIBTORCH=\/nowhere cannot be used\./),
    "There is no C++ compiler; set-up installs one on Debian.",
  ]);
  expect(lines.filter((line) => line.includes("apt"))).toEqual([]);
});
