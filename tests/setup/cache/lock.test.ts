/** @file One build at a time: waiting, and taking over what a killed set-up left. */

import { existsSync, readFileSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect, it } from "vitest";
import { withLock } from "../../../src/setup/cache/lock.ts";
import { temporaryFolder, writeFiles } from "../fakes.ts";

it("lets one work at a time, and tells the other what it waits for", async () => {
  const path = join(temporaryFolder(), "lock");
  const lines: string[] = [];
  const order: string[] = [];
  const work = (name: string) =>
    withLock(
      path,
      (line) => lines.push(line),
      async () => {
        order.push(`${name} begins`);
        await setTimeout(150);
        order.push(`${name} ends`);
        return name;
      },
    );
  expect(await Promise.all([work("one"), work("two")])).toEqual(["one", "two"]);
  expect(order).toEqual(["one begins", "one ends", "two begins", "two ends"]);
  expect(lines).toEqual([`waiting for another set-up (process ${process.pid}) to build …`]);
  expect(existsSync(path)).toBe(false);
});

it("gives the lock back when the work fails", async () => {
  const path = join(temporaryFolder(), "lock");
  const failing = withLock(
    path,
    () => {},
    () => Promise.reject(new Error("no")),
  );
  await expect(failing).rejects.toThrow("no");
  expect(existsSync(path)).toBe(false);
});

it.each([
  ["of a process that is gone", "4194303 1"],
  ["of one that is gone, without its start", "4194303"],
  // A container that starts anew counts its processes from 1 again.
  ["of another process with the same number", `${process.pid} 1`],
  ["that was never written to", ""],
])("takes over a lock %s", async (_, holder) => {
  const folder = writeFiles(temporaryFolder(), { lock: holder });
  const path = join(folder, "lock");
  utimesSync(path, 1, 1);
  const held = await withLock(
    path,
    () => {},
    async () => readFileSync(path, "utf8"),
  );
  expect(held.split(" ")[0]).toBe(String(process.pid));
});
