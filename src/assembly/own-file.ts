/**
 * @file Things of one's own that are named by their file ("./reward.ts"): rewards, formats, estimators and
 * so on. A file exports one as its default, or any number by name.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { importFile } from "../environments/index.ts";
import { OptionError } from "./errors.ts";

export interface OwnKind<Value> {
  /** "a reward component". */
  readonly what: string;
  /** How one is made, for the message: "rewardFunction(name, weight, compute)". */
  readonly made: string;
  readonly is: (value: unknown) => value is Value;
}

/** Everything of a kind that a file exports; at least one. */
export async function importOwn<Value>(path: string, kind: OwnKind<Value>): Promise<Value[]> {
  const file = resolve(path);
  if (!existsSync(file))
    throw new OptionError(`${path}: there is no such file (looked for ${kind.what} in ${file})`);
  const module = await importFile(file).catch((error: Error) => {
    throw new OptionError(`${path}: cannot be loaded: ${error.message}`, { cause: error.cause });
  });
  const found = new Set(Object.values(module).flat(1).filter(kind.is));
  if (found.size > 0) return [...found];
  throw new OptionError(
    `${path}: exports nothing that is ${kind.what}; expected one, made with ${kind.made}. ` +
      `It exports ${Object.keys(module).join(", ") || "nothing"}.`,
  );
}

/** The only one of a kind that a file exports; its default where there are several. */
export async function importOne<Value>(path: string, kind: OwnKind<Value>): Promise<Value> {
  const found = await importOwn(path, kind);
  if (found.length === 1) return found[0]!;
  const module = await importFile(resolve(path));
  if (kind.is(module.default)) return module.default;
  throw new OptionError(
    `${path}: exports ${found.length} of what is ${kind.what}; make the one that is meant its default export`,
  );
}

/** Whether a value is an object whose named members are functions. */
export function hasMethods(value: unknown, ...names: readonly string[]): boolean {
  return (
    typeof value === "object" &&
    value !== null &&
    names.every((name) => typeof (value as Record<string, unknown>)[name] === "function")
  );
}
