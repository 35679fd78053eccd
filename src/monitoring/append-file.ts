/**
 * @file A file that only grows at its end, whole records at a time: a record that could not be written
 * whole (a full disk) is taken back, so that a later one does not stand behind half of it.
 */
import {
  closeSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { diskSentence, naming } from "../folders/index.ts";

export interface AppendFile {
  readonly file: string;
  read(): Buffer;
  /** On the disk when it returns. */
  append(record: Uint8Array): void;
  /** Cuts off everything after the first `size` bytes. */
  truncate(size: number): void;
  close(): void;
}

/** Makes the file and its folder where they are missing. */
export function openAppendFile(file: string): AppendFile {
  let descriptor: number | undefined;
  /** Where a record ends behind which a part of another may stand. */
  let torn: number | undefined;
  try {
    mkdirSync(dirname(file), { recursive: true });
    descriptor = openSync(file, "a+");
  } catch (error) {
    const told = diskSentence(error);
    if (told !== error) throw told;
    throw new Error(
      `${file}: cannot be opened for writing (${(error as Error).message}); ` +
        "choose a folder that you may write to",
      { cause: error },
    );
  }

  function opened(): number {
    if (descriptor === undefined) throw new Error(`${file}: was closed, and takes nothing more`);
    return descriptor;
  }

  function truncate(size: number): void {
    ftruncateSync(opened(), size);
    fsyncSync(opened());
  }

  /** Where the disk does not even allow that, before the next record; or by whoever opens the file next. */
  function takeBack(): void {
    if (torn === undefined) return;
    try {
      truncate(torn);
      torn = undefined;
    } catch {
      // What could not be written is told.
    }
  }

  return {
    file,
    read: () => readFileSync(file),
    append(record) {
      try {
        naming(file, () => {
          if (torn !== undefined) truncate(torn);
          torn = fstatSync(opened()).size;
          for (let written = 0; written < record.length; )
            written += writeSync(opened(), record, written);
          fsyncSync(opened());
          torn = undefined;
        });
      } catch (error) {
        takeBack();
        throw diskSentence(error);
      }
    },
    truncate,
    close() {
      if (descriptor !== undefined) closeSync(descriptor);
      descriptor = undefined;
    },
  };
}

/** What is done before a file is handed to anybody: where that fails, nobody could close it. */
export function closedOnError<Value>(target: AppendFile, begin: () => Value): Value {
  try {
    return begin();
  } catch (error) {
    target.close();
    throw error;
  }
}
