/**
 * @file The original's data files in a folder.
 */
import { existsSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { EnvironmentError } from "../../environment.ts";
import {
  type Annotations,
  annotationsOf,
  type HumanInstructions,
  humanInstructionsOf,
} from "./annotations.ts";
import { DataError } from "./json-array.ts";

export interface DataFiles {
  /** items_shuffle.json, or its first thousand in items_shuffle_1000.json. */
  readonly products: string;
  readonly annotations: string | undefined;
  readonly human: string | undefined;
}

const PRODUCTS = ["items_shuffle_1000.json", "items_shuffle.json"];
const ANNOTATIONS = ["items_ins_v2_1000.json", "items_ins_v2.json"];
const HUMAN = "items_human_ins.json";
const WANTED =
  "Expected are items_shuffle_1000.json or items_shuffle.json, with items_ins_v2_1000.json or " +
  'items_ins_v2.json beside it, and items_human_ins.json for human goals. data="builtin" needs no files.';

/**
 * The files of a folder (or of `data` in it), or those beside the file of products. Where there are both
 * sizes, `small` says which. Default: the thousand products.
 */
export function dataFiles(path: string, small: boolean | undefined): DataFiles {
  if (!existsSync(path))
    throw new EnvironmentError("webshop", `there is nothing at ${path}. ${WANTED}`);
  if (!statSync(path).isDirectory()) return filesOf(dirname(path), basename(path));
  for (const folder of [path, join(path, "data")]) {
    const names = small === false ? PRODUCTS.toReversed() : PRODUCTS;
    const wanted = small === undefined ? names : names.slice(0, 1);
    const name = wanted.find((name) => existsSync(join(folder, name)));
    if (name !== undefined) return filesOf(folder, name);
  }
  const size = small === undefined ? "" : ` with small=${small}`;
  throw new EnvironmentError("webshop", `${path} holds no products${size}. ${WANTED}`);
}

function filesOf(folder: string, products: string): DataFiles {
  const find = (names: readonly string[]): string | undefined =>
    names.map((name) => join(folder, name)).find((file) => existsSync(file));
  // The annotations of all products fit the thousand as well.
  const names = products.includes("1000") ? ANNOTATIONS : ANNOTATIONS.toReversed();
  return { products: join(folder, products), annotations: find(names), human: find([HUMAN]) };
}

export function readAnnotations(path: string): Annotations {
  return naming(path, () => annotationsOf(readJson(path)));
}

export function readHumanInstructions(path: string): HumanInstructions {
  return naming(path, () => humanInstructionsOf(readJson(path)));
}

function readJson(path: string): unknown {
  const text = readFileSync(path, "utf8");
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new DataError(`it is no JSON (${error instanceof Error ? error.message : error})`);
  }
}

/** Runs `read`; a DataError or the system's in it becomes an EnvironmentError that names the file. */
export function naming<Result>(file: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof DataError || (error instanceof Error && "syscall" in error)))
      throw error;
    throw new EnvironmentError("webshop", `${file} cannot be used: ${error.message}. ${WANTED}`, {
      cause: error,
    });
  }
}
