/**
 * @file In a checkout, the package's name means the sources: one library, however it is imported.
 */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import * as byName from "openmanus-rl/torch";
import { expect, it } from "vitest";
import { runCommand } from "../src/setup/support/command.ts";
import { PACKAGE_ROOT } from "../src/setup/support/package.ts";
import * as byPath from "../src/torch/index.ts";
import { temporaryFolder } from "./setup/fakes.ts";

const PROGRAM = `
import { EnvironmentError } from "openmanus-rl/environments";
import { EnvironmentError as fromSource } from "${PACKAGE_ROOT}src/environments/index.ts";
console.log(EnvironmentError === fromSource);
`;

it("in tests", () => {
  expect(byName.Tensor).toBe(byPath.Tensor);
});

it("in a file that a command loads, wherever that and the person are", async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "world.ts"), PROGRAM);
  const command = [join(PACKAGE_ROOT, "bin/openmanus-rl.mjs"), "env", "show", "./world.ts"];
  const { stdout, stderr } = await runCommand(process.execPath, command, { folder });
  expect(stdout).toBe("true\n");
  expect(stderr).toMatch(/must export one world/);
});

it("in a program of the checkout that tsx runs", async () => {
  const file = join(temporaryFolder(), "program.mts");
  writeFileSync(file, PROGRAM);
  const { stdout } = await runCommand(process.execPath, ["--import", "tsx", file], {
    folder: PACKAGE_ROOT,
  });
  expect(stdout).toBe("true\n");
});
