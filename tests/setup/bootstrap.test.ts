/**
 * @file bin/bootstrap.mjs in a make-believe checkout: when it sets up, when it does not, its lock.
 *
 * The checkout's set-up is a stand-in that says "set up" and leaves the stamp that the real one
 * would, so that the test sees both sides of the facts: who writes and who compares.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type CommandResult, runCommand } from "../../src/setup/support/command.ts";
import { PACKAGE_ROOT } from "../../src/setup/support/package.ts";
import { temporaryFolder, writeFiles } from "./fakes.ts";

const STAND_IN = `
import { takeFacts } from "${PACKAGE_ROOT}src/setup/stamp/facts.ts";
import { writeStamp } from "${PACKAGE_ROOT}src/setup/stamp/stamp.ts";
const root = process.cwd();
const files = [root + "/native", root + "/native/a.cc", root + "/native/a.cc/nothing"];
writeStamp(root, process.env, {
  addon: root + "/native/a.cc",
  libtorch: { version: "9.9.9", origin: "system" },
  facts: takeFacts(files),
});
console.log("set up");
await new Promise((resolve) => setTimeout(resolve, Number(process.env.SLOW ?? 0)));
`;

function checkout() {
  const root = temporaryFolder();
  cpSync(join(PACKAGE_ROOT, "bin"), join(root, "bin"), { recursive: true });
  symlinkSync(join(PACKAGE_ROOT, "node_modules"), join(root, "node_modules"));
  writeFiles(root, {
    "src/setup/main.ts": STAND_IN,
    "native/a.cc": "int a;",
    "package.json": '{ "type": "module" }',
  });
  const start = (environment: Record<string, string | undefined> = {}): Promise<CommandResult> =>
    runCommand(process.execPath, [join(root, "bin/bootstrap.mjs")], { environment });
  return { root, start };
}

const READY = "setup: ready, libtorch 9.9.9 (system)\n";

it("sets up once, and again only when something it depends on changes", async () => {
  const { root, start } = checkout();
  expect((await start()).stdout).toBe("set up\n");
  expect((await start()).stdout).toBe(READY);
  // npm's additions to the PATH are not a change, a virtual environment is.
  const path = `/x/node_modules/.bin:${process.env.PATH}`;
  expect((await start({ PATH: path })).stdout).toBe(READY);
  expect((await start({ VIRTUAL_ENV: "/venv" })).stdout).toBe("set up\n");
  expect((await start()).stdout).toBe("set up\n");

  writeFiles(root, { "native/a.cc": "int changed;" });
  expect((await start()).stdout).toBe("set up\n");
  writeFiles(root, { "native/b.cc": "int b;" });
  expect((await start()).stdout).toBe("set up\n");
  expect((await start()).stdout).toBe(READY);
});

it("keeps the libtorchs that were asked for apart", async () => {
  const { start } = checkout();
  const wish = { OPENMANUS_LIBTORCH: "/opt/libtorch" };
  await start();
  expect((await start(wish)).stdout).toBe("set up\n");
  expect((await start(wish)).stdout).toBe(READY);
  expect((await start()).stdout).toBe(READY);
});

it("fails when set-up fails", async () => {
  const { root, start } = checkout();
  writeFiles(root, { "src/setup/main.ts": "process.exitCode = 3;" });
  expect((await start()).status).toBe(3);
});

it("lets one set-up run at a time", async () => {
  const { root, start } = checkout();
  // Both start at once; the slower one to take the lock waits and then has nothing left to do.
  const outputs = await Promise.all([start({ SLOW: "500" }), start({ SLOW: "500" })]);
  const texts = outputs.map(({ stdout }) => stdout).sort();
  expect(texts[0]).toBe("set up\n");
  expect(texts[1]).toMatch(/^setup: (?:waiting for another set-up .*\nsetup: )?ready/);
  expect(existsSync(join(root, "build/native/lock"))).toBe(false);
});

it("takes over the lock of a set-up that was killed", async () => {
  const { root, start } = checkout();
  const killed: ChildProcess = spawn(process.execPath, ["-e", ""]);
  await new Promise((resolve) => killed.on("exit", resolve));
  writeFiles(root, { "build/native/lock": String(killed.pid) });
  expect((await start()).stdout).toBe("set up\n");
});

it("runs npm install when node_modules does not hold what the lock file asks for", async () => {
  const { root, start } = checkout();
  const lock = readFileSync(join(PACKAGE_ROOT, "package-lock.json"), "utf8");
  writeFileSync(join(root, "package-lock.json"), lock);
  // A stand-in for npm that only says that it was called, and then fails.
  writeFiles(root, { "tools/npm!": '#!/bin/sh\necho "npm $*"\nexit 1\n' });
  const PATH = `${join(root, "tools")}:${process.env.PATH}`;
  expect((await start({ PATH })).stdout).toBe("set up\n");

  writeFileSync(
    join(root, "package-lock.json"),
    lock.replace(/("node_modules\/tsx": {\s*"version": ")/, "$19"),
  );
  const failed = await start({ PATH });
  expect(failed.stdout).toContain("setup: npm install …\n");
  expect(failed.stderr).toMatch(/npm install --no-save[\s\S]*setup: npm install failed/);
  expect(failed.status).toBe(1);
});

it("is what the command does in a checkout without packages; other words say so", async () => {
  const { root } = checkout();
  rmSync(join(root, "node_modules"));
  writeFileSync(
    join(root, "package-lock.json"),
    '{ "packages": { "node_modules/tsx": { "version": "1.0.0" } } }',
  );
  writeFiles(root, {
    "src/cli/main.ts": "",
    // A stand-in for npm that installs what there is already.
    "tools/npm!": `#!/bin/sh\nln -s "${join(PACKAGE_ROOT, "node_modules")}" node_modules\n`,
  });
  const environment = { PATH: `${join(root, "tools")}:${process.env.PATH}` };
  const command = (...words: string[]) =>
    runCommand(process.execPath, [join(root, "bin/openmanus-rl.mjs"), ...words], { environment });
  expect(await command("env", "list")).toEqual({
    status: 1,
    stdout: "",
    stderr: "openmanus-rl: the npm packages are not installed. Run: npm run setup\n",
  });
  const { status, stdout } = await command("setup");
  expect(stdout).toMatch(/^setup: npm install …\nsetup: npm packages installed in .*\nset up\n$/);
  expect(status).toBe(0);
});
