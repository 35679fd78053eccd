/**
 * @file From a preset, YAML files and overrides to the configuration of a run.
 */
import { readFileSync } from "node:fs";
import { parse as parseYaml } from "yaml";
import type { z } from "zod";
import { requireLoggerNames } from "../monitoring/index.ts";
import { nearest, withoutCredentials } from "../spelling/index.ts";
import { checkCombinations } from "./combinations.ts";
import { checkNames, type OwnNames } from "./names.ts";
import { ConfigError, isTree, type Plain, parseOverrides, type Tree } from "./override.ts";
import { preset } from "./presets.ts";
import { type Config, configSchema, type Settings } from "./schema.ts";
import { engineNotes } from "./engines/served.ts";
import { allSettings, childrenOf } from "./tree.ts";

export interface ConfigSources {
  /** Settings that everything else wins over: what a model folder says about itself. */
  readonly base?: Tree;
  readonly preset?: string | undefined;
  /** YAML files, a later one wins. */
  readonly files?: readonly string[];
  /** `a.b=c`; they win over files. */
  readonly overrides?: readonly string[];
  /** Settings as objects, a later one wins; they win over everything. */
  readonly settings?: readonly Settings[];
  /** Names of things that a program gives as objects. */
  readonly own?: OwnNames;
}

export interface ResolvedConfig {
  readonly config: Config;
  /** What was said by the user, as one tree. */
  readonly given: Tree;
  /** Settings that were given and do nothing here, with the reason. */
  readonly notes: readonly string[];
}

export function resolveConfig(sources: ConfigSources = {}): ResolvedConfig {
  const trees = [
    sources.base ?? {},
    ...(sources.preset === undefined ? [] : [preset(sources.preset)]),
    ...(sources.files ?? []).map(readYaml),
    parseOverrides(sources.overrides ?? []),
    ...(sources.settings ?? []).map((settings) => withoutUndefined(settings as Tree)),
  ];
  const given = trees.reduce(merged, {});
  const result = configSchema.safeParse(given);
  if (!result.success)
    throw new ConfigError(result.error.issues.map((issue) => explained(issue, given)).join("\n"));
  checkNames(result.data, sources.own);
  checkCombinations(result.data, given, sources.own);
  const inert = allSettings().filter(({ inert: reason }) => reason !== undefined);
  const notes = inert
    .filter(({ path }) => valueAt(given, path.split(".")) !== undefined)
    .map(({ path, inert: reason }) => `${path} has no effect here: ${reason}.`);
  const { notOffered } = requireLoggerNames([result.data.trainer.logger].flat());
  const engine = engineNotes(result.data, (path) => valueAt(given, path.split(".")) !== undefined);
  return { config: result.data, given, notes: [...notes, ...engine, ...notOffered] };
}

/** What YAML files and `a.b=c` say, as one object; later ones win. */
export function readSettings(files: readonly string[], overrides: readonly string[]): Settings {
  return [...files.map(readYaml), parseOverrides(overrides)].reduce(merged, {}) as Settings;
}

function readYaml(file: string): Tree {
  let value: Plain | undefined;
  try {
    value = parseYaml(readFileSync(file, "utf8")) as Plain | undefined;
  } catch (error) {
    throw new ConfigError(`${file}: ${(error as Error).message}`);
  }
  if (value === null || value === undefined) return {};
  if (!isTree(value))
    throw new ConfigError(`${file}: expected settings (name: value), got a ${typeof value}`);
  requireSmall(file, value, { values: 0 }, 0);
  return value;
}

/** No configuration has more. With aliases (`&a`, `*a`) a file of a few lines may, or contain itself. */
const MOST_VALUES = 100_000;
const DEEPEST = 100;

function requireSmall(file: string, value: unknown, seen: { values: number }, depth: number): void {
  if (depth > DEEPEST)
    throw new ConfigError(
      `${file}: its settings are nested more than ${DEEPEST} deep; does an alias (*name) lead to itself?`,
    );
  if (++seen.values > MOST_VALUES)
    throw new ConfigError(
      `${file}: has more than ${MOST_VALUES} values, aliases (*name) written out`,
    );
  if (typeof value === "object" && value !== null)
    for (const inside of Object.values(value)) requireSmall(file, inside, seen, depth + 1);
}

/** A program may leave settings out by giving undefined. */
function withoutUndefined(tree: Tree): Tree {
  return Object.fromEntries(
    Object.entries(tree)
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => [key, isTree(value) ? withoutUndefined(value) : value]),
  );
}

/** Sections are joined; anything else of the second replaces the first's. */
export function merged(first: Tree, second: Tree): Tree {
  const result: Tree = { ...first };
  for (const [key, value] of Object.entries(second)) {
    // Setting it would set something else.
    if (key === "__proto__") throw new ConfigError("there is no setting __proto__.");
    const before = result[key];
    result[key] = isTree(before) && isTree(value) ? merged(before, value) : value;
  }
  return result;
}

function valueAt(tree: Plain | undefined, path: readonly PropertyKey[]): Plain | undefined {
  let value = tree;
  for (const key of path) value = isTree(value) ? value[String(key)] : undefined;
  return value;
}

function explained(issue: z.core.$ZodIssue, given: Tree): string {
  const path = issue.path.map(String).join(".");
  if (issue.code === "unrecognized_keys")
    return issue.keys.map((key) => unknownKey(issue.path, key, given)).join("\n");
  const entry = allSettings().find((setting) => setting.path === path);
  if (entry?.secret) return `${path} ${issue.code === "custom" ? issue.message : "must be a text"}`;
  const value = withoutCredentials(JSON.stringify(valueAt(given, issue.path)) ?? "nothing");
  if (entry) return `${path} is ${value}, expected ${entry.kind}. ${entry.about}`;
  return childrenOfPath(issue.path)
    ? `${path} is ${value}, expected settings: ${path}.NAME=VALUE`
    : `${path}: ${issue.message} (got ${value})`;
}

function childrenOfPath(path: readonly PropertyKey[]) {
  let schema: z.core.$ZodType | undefined = configSchema;
  for (const key of path) schema = schema && childrenOf(schema)?.[String(key)];
  return schema && childrenOf(schema);
}

/** The nearest known name: in the same section first, then anywhere by its last words. */
function unknownKey(path: readonly PropertyKey[], key: string, given: Tree): string {
  const section = [...path, key].map(String);
  const full = [...section, ...firstPath(valueAt(given, section))].join(".");
  const siblings = Object.keys(childrenOfPath(path) ?? {});
  const paths = allSettings().map((setting) => setting.path);
  const near = full === section.join(".") ? nearest(key, siblings) : undefined;
  const guess = near
    ? [...path, near].map(String).join(".")
    : (paths.find((other) => other.endsWith(`.${full}`)) ?? nearest(full, paths));
  const hint = guess ? `Did you mean ${guess}?` : `There are ${siblings.join(", ")}.`;
  return `there is no setting ${full}. ${hint}`;
}

/** The names on the way to the first setting inside of a tree. */
function firstPath(value: Plain | undefined): string[] {
  const [key] = isTree(value) ? Object.keys(value) : [];
  return key === undefined ? [] : [key, ...firstPath((value as Tree)[key])];
}
