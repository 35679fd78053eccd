/**
 * @file One build at a time: a second set-up waits, and then finds everything compiled.
 *
 * Only to save work. Files appear by renames, so two builds at once would be slow but not wrong, and
 * a lock that seems abandoned can be taken over without harm. bin/bootstrap.mjs, which runs before
 * TypeScript does, has the same lock around npm.
 */

import { rmSync, writeFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { processStart } from "../machine/process-start.ts";
import { readTextIfThere, statusOf } from "../support/files.ts";

const LOOK_AGAIN_MILLISECONDS = 100;
/** A set-up that was killed between making the file and writing into it leaves it empty. */
const EMPTY_FOR_MILLISECONDS = 5000;

export async function withLock<Result>(
  path: string,
  report: (line: string) => void,
  work: () => Promise<Result>,
): Promise<Result> {
  for (let announced = false; !taken(path); ) {
    const holder = readTextIfThere(path) ?? "";
    if (isAbandoned(path, holder)) rmSync(path, { force: true });
    else if (!announced) {
      report(`waiting for another set-up (process ${holder.split(" ")[0]}) to build …`);
      announced = true;
    }
    await setTimeout(LOOK_AGAIN_MILLISECONDS);
  }
  const release = () => rmSync(path, { force: true });
  process.once("exit", release);
  try {
    return await work();
  } finally {
    process.off("exit", release);
    release();
  }
}

function taken(path: string): boolean {
  try {
    writeFileSync(path, `${process.pid} ${processStart(process.pid)}`, { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

function isAbandoned(path: string, holder: string): boolean {
  if (holder === "")
    return Date.now() - (statusOf(path)?.mtimeMs ?? Date.now()) > EMPTY_FOR_MILLISECONDS;
  const [process, start] = holder.split(" ");
  const running = processStart(Number(process));
  return running === undefined || running !== start;
}
