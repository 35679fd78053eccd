/**
 * @file The small file that says which MLflow run a training run is, so that it goes on with the same one.
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { diskSentence, naming, removeIfPossible } from "../../folders/index.ts";

export interface StoredRun {
  /** The server, without credentials. */
  readonly url: string;
  readonly experiment: string;
  readonly run: string;
  /** Whether its params were logged: they cannot be changed later. */
  readonly hasParams: boolean;
}

/** Undefined where there is no file, or one that is not ours: then the run begins anew. */
export function readRunFile(file: string): StoredRun | undefined {
  let value: Partial<StoredRun> | null;
  try {
    value = JSON.parse(readFileSync(file, "utf8")) as Partial<StoredRun> | null;
  } catch {
    return undefined;
  }
  const { url, experiment, run, hasParams } = value ?? {};
  const isWhole = [url, experiment, run].every((text) => typeof text === "string" && text !== "");
  if (!isWhole || typeof hasParams !== "boolean") return undefined;
  return { url: url!, experiment: experiment!, run: run!, hasParams };
}

/** Whole or not at all. */
export function writeRunFile(file: string, stored: StoredRun): void {
  mkdirSync(dirname(file), { recursive: true });
  try {
    naming(file, () => writeFileSync(`${file}.new`, `${JSON.stringify(stored, null, 2)}\n`));
    renameSync(`${file}.new`, file);
  } catch (error) {
    removeIfPossible(`${file}.new`);
    throw diskSentence(error);
  }
}
