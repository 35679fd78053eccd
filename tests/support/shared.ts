/**
 * @file Test data that not everybody has: the shared folder beside the repository (golden numbers of reference
 * implementations, published games and transcripts). Without it, tests that need it are skipped, and one line
 * at the end of the run says so (skipped.ts). On a machine of ours, CI with the folder, a file that is missing
 * in it is a failure.
 */
import { appendFileSync, existsSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, inject } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const FOLDER = fileURLToPath(new URL("../../../shared/", import.meta.url));

/** The path of a file or folder in it. */
export function sharedFile(path: string): string {
  return FOLDER + path;
}

/** Whether tests of these must be skipped: `describe.skipIf(isMissing("golden/models"))`. */
export function isMissing(...paths: readonly string[]): boolean {
  const missing = paths.filter((path) => !existsSync(sharedFile(path)));
  if (missing.length === 0 || isOurs(process.env.CI, existsSync(FOLDER))) return false;
  const file = relative(ROOT, expect.getState().testPath ?? "");
  for (const path of missing) appendFileSync(inject("skippedFile"), `${path}\t${file}\n`);
  return true;
}

/** Whether it is a machine that must have everything. */
export function isOurs(ci: string | undefined, hasFolder: boolean): boolean {
  return ci === "true" && hasFolder;
}
