/** @file What one checkout has built serves the next, wherever that lies. */

import { cpSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { findCompiler } from "../../../src/setup/compile/compiler.ts";
import { findLibtorch } from "../../../src/setup/libtorch/find.ts";
import { nodeHeaders } from "../../../src/setup/machine/node-headers.ts";
import { runCommand } from "../../../src/setup/support/command.ts";
import { temporaryFolder, writeFiles } from "../fakes.ts";
import { workshop } from "./workshop.ts";

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
