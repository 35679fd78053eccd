/**
 * @file Model folders and their temporary neighbours.
 */
import { existsSync, readdirSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { ModelFileError } from "./errors.ts";

/** Where a folder is while it is written ("partial"), or while another takes its place. */
export function neighbour(folder: string, what: "partial" | "replaced"): string {
  const target = resolve(folder);
  return join(dirname(target), `.${basename(target)}.${what}`);
}

/** Throws unless the folder exists; says if an interrupted save has left its content elsewhere. */
export function requireFolder(folder: string): void {
  if (existsSync(folder) && statSync(folder).isDirectory()) return;
  if (existsSync(folder)) throw new ModelFileError(folder, "is not a folder");
  const replaced = neighbour(folder, "replaced");
  throw new ModelFileError(
    folder,
    existsSync(replaced)
      ? `does not exist, because saving it was interrupted; the model before is in ${replaced}: ` +
          "rename it back"
      : "the folder does not exist",
  );
}

/** A new model must not take the place of a trained one. `orElse`: what one could also do. */
export function requireNew(folder: string, orElse = ""): void {
  const found = statSync(folder, { throwIfNoEntry: false });
  if (found && (!found.isDirectory() || readdirSync(folder).length > 0))
    throw new ModelFileError(
      folder,
      `exists already; choose another folder${orElse === "" ? " or" : ","} remove it first${orElse}`,
    );
}
