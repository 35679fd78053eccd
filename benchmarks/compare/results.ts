/**
 * @file The files of results: benchmarks/results/NAME.jsonl, what was run in the first line, then a line
 * per validation.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { About, Measured } from "./digest.ts";

const FOLDER = fileURLToPath(new URL("../results", import.meta.url));

export interface Results {
  readonly name: string;
  readonly about: About;
  readonly lines: readonly Measured[];
}

export function writeResults({ name, about, lines }: Results): void {
  mkdirSync(FOLDER, { recursive: true });
  const text = [about, ...lines].map((line) => JSON.stringify(line)).join("\n");
  writeFileSync(join(FOLDER, `${name}.jsonl`), `${text}\n`);
}

export function readResults(): Results[] {
  if (!existsSync(FOLDER)) return [];
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith(".jsonl"))
    .sort()
    .map((file) => {
      const [about, ...lines] = readFileSync(join(FOLDER, file), "utf8")
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line));
      return { name: file.replace(/\.jsonl$/, ""), about, lines };
    });
}
