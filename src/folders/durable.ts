/**
 * @file Files and folders that are either complete or not there, even after a power cut.
 */
import {
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { naming } from "./errors.ts";

/** Where a file is written before it gets its name. */
export function temporaryName(path: string): string {
  return join(dirname(path), `.${basename(path)}.partial`);
}

/** Writes a file under a temporary name, makes it durable, and gives it its name. */
export function writeDurably(path: string, write: (descriptor: number) => void): void {
  const temporary = temporaryName(path);
  try {
    const descriptor = naming(path, () => openSync(temporary, "w"), temporary);
    try {
      naming(path, () => {
        write(descriptor);
        fsyncSync(descriptor);
      });
    } finally {
      closeSync(descriptor);
    }
    renameSync(temporary, path);
  } catch (error) {
    removeIfPossible(temporary);
    throw error;
  }
  syncFolder(dirname(path));
}

/**
 * A file or folder that was written in part. On a disk that can only be read by now it stays, and the next one of its name
 * takes its place: why it could not be written is what whoever called must hear.
 */
export function removeIfPossible(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // It stays.
  }
}

/** Text as a durable file. */
export function writeText(path: string, text: string): void {
  writeBytes(path, Buffer.from(text, "utf8"));
}

/** A small file's copy, durable. */
export function copyDurably(from: string, to: string): void {
  writeBytes(to, readFileSync(from));
}

/** Bytes as a durable file. */
export function writeBytes(path: string, bytes: Uint8Array): void {
  writeDurably(path, (descriptor) => {
    let done = 0;
    while (done < bytes.length) done += writeSync(descriptor, bytes, done);
  });
}

/** A value as an indented JSON file that ends with a newline, as transformers writes them. */
export function writeJson(path: string, value: unknown): void {
  writeText(path, `${JSON.stringify(value, null, 2)}\n`);
}

/** Makes renames inside a folder durable. */
export function syncFolder(folder: string): void {
  const descriptor = openSync(folder, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
