/**
 * @file One process at a time in a folder, also from another machine: whose lock it is, when it is dead, and
 * that who lost it notices.
 */
import { spawn, spawnSync } from "node:child_process";
import {
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { FolderBusyError, LOCK_FILE, takeLock } from "../../src/folders/index.ts";
import { temporaryFolder } from "../rollout/support.ts";

const TAKE = fileURLToPath(new URL("./support/take-lock.ts", import.meta.url));

/** What a process on another machine would have written. */
function foreignLock(folder: string, secondsAgo: number): void {
  const file = join(folder, LOCK_FILE);
  const owner = { id: "x", pid: process.pid, started: null, machine: "elsewhere", host: "node-7" };
  writeFileSync(file, JSON.stringify(owner));
  const then = Date.now() / 1000 - secondsAgo;
  utimesSync(file, then, then);
}

it("another machine's is refused while it gives signs of life, whatever its process number", () => {
  const folder = temporaryFolder();
  foreignLock(folder, 20);
  expect(() => takeLock(folder)).toThrow(FolderBusyError);
  expect(() => takeLock(folder)).toThrow(
    /process \d+ on node-7 is at work in this folder \(last sign of life (19|20|21) s ago\)/,
  );
  expect(readdirSync(folder)).toEqual([LOCK_FILE]);
});

it("and taken over after a minute without one; its old holder notices before it writes", () => {
  const folder = temporaryFolder();
  const frozen = takeLock(folder);
  foreignLock(folder, 90);
  const lock = takeLock(folder);
  lock.requireHeld();
  expect(() => frozen.requireHeld()).toThrow(/has taken this folder over.*Nothing more is written/);
  frozen.release();
  lock.requireHeld();
  lock.release();
  expect(existsSync(join(folder, LOCK_FILE))).toBe(false);
});

it("signs of life come while the process is busy", { timeout: 30_000 }, () => {
  const folder = temporaryFolder();
  const lock = takeLock(folder);
  const before = statSync(join(folder, LOCK_FILE)).mtimeMs;
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 12_000);
  expect(statSync(join(folder, LOCK_FILE)).mtimeMs).toBeGreaterThan(before);
  expect(JSON.parse(readFileSync(join(folder, LOCK_FILE), "utf8"))).toMatchObject({
    pid: process.pid,
  });
  lock.release();
});

it("of many that find a dead lock, one gets the folder", { timeout: 60_000 }, async () => {
  const folder = temporaryFolder();
  const gone = spawnSync(process.execPath, ["-e", ""]);
  writeFileSync(join(folder, LOCK_FILE), JSON.stringify({ pid: gone.pid, started: "1" }));
  const at = String(Date.now() + 5000);
  const answers = await Promise.all(
    Array.from({ length: 4 }, () => {
      const child = spawn(process.execPath, ["--import", "tsx", TAKE, folder, at]);
      let said = "";
      child.stdout.on("data", (piece) => {
        said += String(piece);
      });
      return new Promise<string>((resolve) => child.on("close", () => resolve(said.trim())));
    }),
  );
  expect(answers.filter((answer) => answer === "mine")).toHaveLength(1);
  expect(answers.filter((answer) => /is at work in this folder/.test(answer))).toHaveLength(3);
});

const isolated = ["--pid", "--fork", "--mount-proc"];
const canIsolate = spawnSync("unshare", [...isolated, "true"]).status === 0;

it.skipIf(!canIsolate)("a process in another container is seen", { timeout: 60_000 }, async () => {
  const folder = temporaryFolder();
  const child = spawn("unshare", [
    ...[...isolated, "--kill-child", process.execPath, "--import", "tsx", TAKE],
    ...[folder, "0", "hold"],
  ]);
  await new Promise((resolve) => child.stdout.once("data", resolve));
  expect(() => takeLock(folder)).toThrow(/in another container or namespace of this machine/);
  const ended = new Promise((resolve) => child.on("close", resolve));
  child.kill("SIGKILL");
  await ended;
});
