/**
 * @file Worlds by name: the built-in ones, those that a program registers, and files.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { nearest } from "../spelling/index.ts";
import { BUILT_IN } from "./built-in.ts";
import type { WorldDefinition } from "./define.ts";
import { EnvironmentError, type World } from "./environment.ts";
import { boundedWorld, calling, openLimit } from "./foreign/bounded-world.ts";
import { mixedNames, mixWorlds } from "./mixed.ts";
import { checkOptions } from "./options.ts";
import { importFile, isFileName } from "./user-file.ts";

const registered = new Map<string, WorldDefinition>();
for (const definition of BUILT_IN) register(definition);

/** Makes a world known by its name and aliases. A name that is taken is an error. */
export function registerWorld(definition: WorldDefinition): void {
  register(definition);
}

function register(definition: WorldDefinition): void {
  const names = [definition.name, ...(definition.aliases ?? [])].map((name) => name.toLowerCase());
  for (const name of names) {
    const other = registered.get(name);
    if (other && other !== definition)
      throw new EnvironmentError(
        definition.name,
        `the name "${name}" already belongs to the world "${other.name}"; choose another.`,
      );
  }
  for (const name of names) registered.set(name, definition);
}

/** All known worlds, by name. */
export function worldDefinitions(): readonly WorldDefinition[] {
  const all = [...new Set(registered.values())];
  return all.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * The world of that name or alias. A name that looks like a file ("./world.ts", "worlds/mine.js") is
 * imported: its default export, or its only export that is a world definition. Several, joined by "+", are one.
 */
export async function findWorld(name: string): Promise<WorldDefinition> {
  const found = registered.get(name.toLowerCase());
  if (found) return found;
  // A path may have a plus in it.
  const several = isFileName(name) && existsSync(resolve(name)) ? undefined : mixedNames(name);
  if (several)
    return mixWorlds(
      await Promise.all(
        several.map(async (part) => ({ world: await findWorld(part.name), weight: part.weight })),
      ),
    );
  if (isFileName(name)) return fromFile(name);
  const names = worldDefinitions().flatMap(({ name, aliases }) => [name, ...(aliases ?? [])]);
  const guess = nearest(name, names);
  throw new EnvironmentError(
    name.length > 60 ? `${name.slice(0, 60)}…` : name,
    `there is no world of this name${guess ? `; did you mean "${guess}"?` : "."} ` +
      `There are ${names.join(", ")}. A world of your own is named by its file (./world.ts).`,
  );
}

async function fromFile(path: string): Promise<WorldDefinition> {
  const file = resolve(path);
  if (!existsSync(file))
    throw new EnvironmentError(path, `there is no file ${file}. Is the path right?`);
  const module = await importFile(file).catch((error: Error) => {
    throw new EnvironmentError(path, `the file cannot be loaded: ${error.message}`, {
      cause: error.cause,
    });
  });
  const worlds = Object.values(module).filter(isWorldDefinition);
  const world = isWorldDefinition(module.default) ? module.default : worlds[0];
  if (!world || (new Set(worlds).size > 1 && !isWorldDefinition(module.default)))
    throw new EnvironmentError(
      path,
      `the file must export one world, made with defineEnvironment or defineWorld; it exports ${worlds.length}.`,
    );
  return world;
}

function isWorldDefinition(value: unknown): value is WorldDefinition {
  return (
    typeof value === "object" &&
    value !== null &&
    "open" in value &&
    typeof value.open === "function" &&
    "name" in value &&
    typeof value.name === "string"
  );
}

/** Options with a seed, where the world has an option of that name and nobody has set it. */
export function seededOptions(
  { options: table }: WorldDefinition,
  options: Readonly<Record<string, unknown>>,
  seed: number | undefined,
): Readonly<Record<string, unknown>> {
  const isMissing = seed !== undefined && "seed" in table && options.seed === undefined;
  return isMissing ? { ...options, seed } : options;
}

/**
 * Finds a world, checks the options and loads it. `seconds`: how long opening it, and listing the tasks of a
 * split, may take. Default 600.
 */
export async function openWorld(
  name: string | WorldDefinition,
  options: Readonly<Record<string, unknown>> = {},
  seconds?: number,
): Promise<World> {
  const definition = typeof name === "string" ? await findWorld(name) : name;
  const checked = checkOptions(definition.name, definition.options, options);
  const world = await calling(definition.name, "open()", openLimit(seconds), () =>
    definition.open(checked),
  );
  return boundedWorld(definition.name, world, seconds);
}
