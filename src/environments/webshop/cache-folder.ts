/**
 * @file Where what was made once is kept between runs: the option, else the user's cache folder.
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { userCache } from "../../setup/index.ts";

/** A shop of fewer products is indexed faster than a file is worth. */
const WORTH_KEEPING = 20_000;

/** The folder, or undefined where nothing is to be kept. */
export function cacheFolder(option: string | undefined, products: number): string | undefined {
  if (option === "off") return undefined;
  if (option !== undefined) return option;
  if (products < WORTH_KEEPING) return undefined;
  return join(userCache(), "webshop");
}

/** A file's name that depends on what it holds and what that was made from. */
export function cacheFile(folder: string, what: string, source: string): string {
  return join(folder, `${what}-${fingerprint([source])}.bin`);
}

/** Sixteen digits that differ where the texts do. */
export function fingerprint(texts: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(texts)).digest("hex").slice(0, 16);
}
