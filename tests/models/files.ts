/**
 * @file What the tests of model files share: temporary folders, golden models, hand-made files.
 */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect } from "vitest";
import { memory } from "../../src/torch/index.ts";
import { isMissing, sharedFile } from "../support/shared.ts";

const made: string[] = [];

/** A folder that is removed after the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "openmanus-models-"));
  made.push(folder);
  return folder;
}

afterEach(() => {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** Small models written by transformers, which not every machine has. */
export const GOLDEN = sharedFile("golden/models");

export function isWithoutGolden(): boolean {
  return isMissing("golden/models");
}

/** Their names; none where they are missing. */
export function goldenNames(): string[] {
  return isWithoutGolden() ? [] : readdirSync(GOLDEN);
}

/** The bytes of a safetensors file with the given header, which may be wrong. */
export function safetensorsBytes(header: unknown, dataBytes: number | Uint8Array): Uint8Array {
  const text = typeof header === "string" ? header : JSON.stringify(header);
  const json = Buffer.from(text, "utf8");
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  return Buffer.concat([length, json, Buffer.from(new Uint8Array(dataBytes as number))]);
}

export function writeBytes(folder: string, name: string, bytes: Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return path;
}

/** Runs a function and proves that it leaves no tensor behind. */
export function withoutLeaks(body: () => void): void {
  const before = memory().tensors;
  body();
  expect(memory().tensors).toBe(before);
}
