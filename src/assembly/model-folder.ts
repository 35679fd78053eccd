/**
 * @file Where a model is: its folder, or the sentence that says how to get one.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { OptionError } from "./errors.ts";

/** Throws, with what to do, unless the folder is a model's. */
export function requireModelFolder(folder: string): string {
  if (folder === "")
    throw new OptionError(
      "no model: name its folder (`model` in a program, --model FOLDER on a command line): a Hugging " +
        "Face folder, or a new one (openmanus-rl model init)",
    );
  if (existsSync(join(folder, "config.json"))) return folder;
  const onHub = /^[\w.-]+\/[\w.-]+$/.test(folder) && !existsSync(folder);
  throw new OptionError(
    `there is no model in "${folder}" (no config.json). ` +
      (onHub
        ? `Is it a name on Hugging Face's hub? Fetch it first (huggingface-cli download ${folder} ` +
          `--local-dir models/${folder.split("/")[1]}) and give that folder.`
        : "Give a Hugging Face folder, or make a new model: openmanus-rl model init."),
  );
}
