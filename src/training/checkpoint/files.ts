/**
 * @file Folders that are written whole or not at all, and checked when they are read: a manifest has the
 * size and the hash of every file.
 */
import { createHash } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { naming, removeIfPossible } from "../../folders/index.ts";
import { ProcessGroupError } from "../../torch/index.ts";

/** A checkpoint that cannot be used; the message has the file's name. */
export class CheckpointError extends Error {
  override name = "CheckpointError";
}

const MANIFEST = "manifest.json";

interface Manifest {
  files: Record<string, { bytes: number; sha256: string }>;
}

/** Writes into a new folder beside the target, and puts it in the target's place when all is on disk. */
export function writeWhole(target: string, write: (folder: string) => void): void {
  const folder = join(dirname(target), `.new-${process.pid}-${target.split("/").at(-1)}`);
  try {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    write(folder);
    const files: Manifest["files"] = {};
    for (const file of filesIn(folder)) {
      flush(file);
      files[relative(folder, file)] = { bytes: statSync(file).size, sha256: hashOf(file) };
    }
    const manifest = join(folder, MANIFEST);
    writeNamed(manifest, `${JSON.stringify({ files } satisfies Manifest, null, 1)}\n`);
    flush(manifest);
    flush(folder);
    rmSync(target, { recursive: true, force: true });
    renameSync(folder, target);
    flush(dirname(target));
  } catch (error) {
    removeIfPossible(folder);
    // A rank whose part is written here is lost: nothing is wrong with the folder.
    if (error instanceof ProcessGroupError) throw error;
    throw notWritten(target, error);
  }
}

/** The sentence of all ranks that write a checkpoint together. */
export function notWritten(target: string, error: unknown): CheckpointError {
  return new CheckpointError(
    `${target}: cannot be written (${(error as Error).message}). What was saved before is whole: ` +
      "when there is room, the same command goes on from there.",
    { cause: error },
  );
}

/** A file of a folder that is being written: made durable with all of it. Where the disk refuses it, with its name. */
export function writeNamed(file: string, text: string): void {
  naming(file, () => writeFileSync(file, text));
}

/** Throws, with the file's name, unless every file is there as it was written. */
export function verifyWhole(folder: string): void {
  const path = join(folder, MANIFEST);
  const manifest = readJson<Partial<Manifest>>(path);
  const files = Object.entries(manifest.files ?? {});
  if (files.length === 0) throw new CheckpointError(`${path}: names no files`);
  for (const [name, written] of files) {
    const { bytes, sha256 } = Object(written ?? {}) as Partial<Manifest["files"][string]>;
    const file = join(folder, name);
    if (!resolve(file).startsWith(`${resolve(folder)}${sep}`))
      throw new CheckpointError(`${path}: names ${name}, which is not in the checkpoint`);
    if (!existsSync(file)) throw new CheckpointError(`${file}: is missing`);
    const { size } = statSync(file);
    if (size !== bytes)
      throw new CheckpointError(
        `${file}: has ${size} bytes, was written with ${JSON.stringify(bytes)}`,
      );
    if (hashOf(file) !== sha256)
      throw new CheckpointError(`${file}: was altered after it was written (its hash differs)`);
  }
}

/** An object in a file; what it has inside is the caller's to look at. */
export function readJson<Value extends object>(file: string): Value {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw new CheckpointError(`${file}: cannot be read (${(error as Error).message})`);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Value;
  throw new CheckpointError(`${file}: holds no object`);
}

/** What a process that died while writing left behind. */
export function removeHalfWritten(folder: string): void {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder))
    if (name.startsWith(".new-")) rmSync(join(folder, name), { recursive: true, force: true });
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

function flush(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function hashOf(file: string): string {
  const hash = createHash("sha256");
  const piece = Buffer.alloc(2 ** 20);
  const descriptor = openSync(file, "r");
  try {
    for (;;) {
      const count = readSync(descriptor, piece);
      if (count === 0) return hash.digest("hex");
      hash.update(piece.subarray(0, count));
    }
  } finally {
    closeSync(descriptor);
  }
}
