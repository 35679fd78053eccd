/**
 * @file A model of the cache as a folder of one's own: files instead of links, whole or not there.
 */
import {
  constants,
  copyFileSync,
  existsSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { makeFolder, syncFolder } from "../../folders/index.ts";
import { ModelFileError, messageOf } from "../checkpoint/errors.ts";
import { neighbour } from "../checkpoint/folder.ts";

/** The folder must be new, or empty. */
export function copyModel(from: string, folder: string): void {
  const target = resolve(folder);
  if (existsSync(target) && !(statSync(target).isDirectory() && readdirSync(target).length === 0))
    throw new ModelFileError(
      folder,
      "is there already, and is not overwritten; give a new folder, or remove it first",
    );
  const partial = neighbour(target, "partial");
  try {
    rmSync(partial, { recursive: true, force: true });
    makeFolder(partial);
    // Where the file system can, both share their bytes until one is changed.
    for (const name of readdirSync(from))
      copyFileSync(join(from, name), join(partial, name), constants.COPYFILE_FICLONE);
    syncFolder(partial);
    renameSync(partial, target);
    syncFolder(dirname(target));
  } catch (error) {
    rmSync(partial, { recursive: true, force: true });
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    throw new ModelFileError(folder, `cannot be written (${messageOf(error)})`, { cause: error });
  }
}
