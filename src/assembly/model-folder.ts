/**
 * @file Where a model is: its folder, or the sentence that says how to get one.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { hubNameIn, modelFolderOf } from "../models/index.ts";
import { OptionError } from "./errors.ts";

/**
 * The folder of a model on this machine: itself, or, of a name with its commit (`org/name@COMMIT`), its place in
 * the Hub's cache. Throws, with what to do, unless a model is there.
 */
export function requireModelFolder(place: string): string {
  if (place === "")
    throw new OptionError(
      "no model: name its folder (`model` in a program, --model FOLDER on a command line): a Hugging " +
        "Face folder, a name on the Hub (org/name), or a new one (openmanus-rl model init)",
    );
  const folder = modelFolderOf(place);
  if (existsSync(join(folder, "config.json"))) return folder;
  const isName = hubNameIn(place) !== undefined && !existsSync(place);
  throw new OptionError(
    folder === place
      ? `there is no model in "${place}" (no config.json). ` +
          (isName
            ? `Is it a name on the Hub? Fetch it first: openmanus-rl model fetch ${place} FOLDER. `
            : "") +
          "Give a Hugging Face folder, or make a new model: openmanus-rl model init."
      : `${place} is not in the Hub's cache (${folder}). Fetch it: openmanus-rl model fetch ${place}.`,
  );
}
