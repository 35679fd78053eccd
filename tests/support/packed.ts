/**
 * @file The package's tarball, made once for all test files: whoever needs it first packs it, the others
 * wait. Vitest runs `setup` around all tests.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** Where the tarball is made. */
    packedFolder: string;
  }
}

export default function setup(project: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), "openmanus-packed-"));
  project.provide("packedFolder", folder);
  return () => rmSync(folder, { recursive: true, force: true });
}

interface Outcome {
  readonly tarball?: string;
  readonly error?: string;
}

/** What `make` gives, which is called in one process only; the others get its result, or its error. */
export async function madeOnce(folder: string, make: () => Promise<string>): Promise<string> {
  const [lock, done] = [join(folder, "lock"), join(folder, "outcome.json")];
  let outcome: Outcome;
  try {
    writeFileSync(lock, String(process.pid), { flag: "wx" });
    outcome = await make().then(
      (tarball) => ({ tarball }),
      (error: Error) => ({ error: error.message }),
    );
    writeFileSync(done, JSON.stringify(outcome));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    // Vitest's own time limit ends this where the one that packs was killed.
    while (!existsSync(done)) await wait(100);
    outcome = JSON.parse(readFileSync(done, "utf8")) as Outcome;
  }
  if (outcome.tarball === undefined) throw new Error(outcome.error);
  return outcome.tarball;
}
