/**
 * @file What vitest runs around all tests: it says at the end, in one line, what was skipped for want of the
 * shared folder. Test files are processes of their own, so they note it in a file.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** A line for each path and test file: "golden/models<TAB>tests/models/folder.test.ts". */
    skippedFile: string;
  }
}

export default function setup(project: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), "openmanus-skipped-"));
  const file = join(folder, "skipped.tsv");
  writeFileSync(file, "");
  project.provide("skippedFile", file);
  return () => {
    const line = skippedLine(readFileSync(file, "utf8"));
    if (line !== undefined) console.log(line);
    rmSync(folder, { recursive: true });
  };
}

/** Undefined where nothing was skipped. */
export function skippedLine(notes: string): string | undefined {
  const rows = notes
    .trim()
    .split("\n")
    .filter(Boolean)
    .map((row) => row.split("\t"));
  if (rows.length === 0) return undefined;
  const paths = new Set(rows.map(([path]) => path));
  const files = [...new Set(rows.map(([, file]) => file))].sort();
  const count = (number: number, what: string) => `${number} ${what}${number === 1 ? "" : "s"}`;
  return (
    `skipped without ../shared: what needs ${count(paths.size, "file")} of golden data, in ` +
    `${count(files.length, "test file")} (${files.join(", ")})`
  );
}
