/**
 * @file Keys of servers: ours, and those that we ask. A setting, an option or a command line never holds one,
 * because those are written down and seen by others: it says where the key is, in a variable (`env:NAME`) or
 * in a file (`file:PATH`). The key itself is read where it is used, and nowhere else.
 */
import { readFileSync } from "node:fs";
import { NetworkError } from "./errors.ts";

const VARIABLE = /^env:([A-Za-z_][A-Za-z0-9_]*)$/;
const FILE = /^file:(.+)$/s;

/** How a place is written, for messages. */
export const KEY_PLACES =
  "write env:NAME for the key in a variable, or file:PATH for the first line of a file";

/** Whether a text says where a key is; anything else may be a key itself, and must not be shown. */
export function isKeyPlace(text: string): boolean {
  return VARIABLE.test(text) || FILE.test(text);
}

/**
 * The key there. Throws NetworkError where there is none that can be used, without saying what was found.
 * `setting` is what named the place, for the message.
 */
export function keyAt(
  setting: string,
  place: string,
  variables: Readonly<Record<string, string | undefined>> = process.env,
): string {
  const variable = VARIABLE.exec(place)?.[1];
  if (variable !== undefined)
    return usable(setting, variables[variable] ?? "", `the environment variable ${variable}`);
  const file = FILE.exec(place)?.[1];
  if (file === undefined)
    throw new NetworkError(`${setting} looks like a key in plain text; ${KEY_PLACES}.`);
  return usable(setting, firstLine(setting, file), `the first line of the file ${file}`);
}

function firstLine(setting: string, file: string): string {
  try {
    return readFileSync(file, "utf8").split("\n", 1)[0]!;
  } catch (error) {
    const { code = "unknown" } = error as NodeJS.ErrnoException;
    throw new NetworkError(
      `${setting}: the file ${file}, which is to hold the key, cannot be read (${code}).`,
    );
  }
}

function usable(setting: string, text: string, where: string): string {
  const key = text.trim();
  if (key !== "") return requireKey(key, where);
  throw new NetworkError(`${setting}: ${where}, which is to hold the key, is not set or empty.`);
}

/** A header takes no other characters, and a message must not show which they were. */
export function requireKey(key: string, where: string): string {
  if (/^[\u0021-\u007e]{1,4096}$/.test(key)) return key;
  throw new NetworkError(
    `the key in ${where} must be 1 to 4096 letters, digits and signs of ASCII, without spaces.`,
  );
}
