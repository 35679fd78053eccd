/**
 * @file Recipes from the npm package minecraft-data, where somebody has installed it: at 430 MB it is
 * too large to depend on. Its two files (recipes and names) are read without loading its code.
 *
 * The package lists a recipe once for each kind of wood and wool instead of naming a tag, so there
 * are more recipes here than in the game's own files, and no tags.
 */
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { EnvironmentError } from "../environment.ts";
import type { RecipeEntry } from "./book.ts";
import type { Ingredient } from "./recipe.ts";

/** The version whose recipes the original's are. */
const USUAL_VERSION = "1.16.5";

/** `name` is "minecraft-data" or "minecraft-data@1.20.4". */
export function minecraftDataRecipes(name: string): RecipeEntry[] {
  const version = name.split("@")[1] ?? USUAL_VERSION;
  const data = join(packageFolder(), "minecraft-data", "data");
  const paths = (read(join(data, "dataPaths.json")) as { pc?: Record<string, unknown> }).pc ?? {};
  const folders = Object.hasOwn(paths, version)
    ? (paths[version] as { recipes?: string; items?: string })
    : {};
  if (!folders.recipes || !folders.items)
    throw new EnvironmentError(
      "textcraft",
      `minecraft-data has no recipes for version "${version}"; try data=minecraft-data@${USUAL_VERSION}.`,
    );
  const items = read(join(data, folders.items, "items.json")) as { id: number; name: string }[];
  const names = new Map(items.map(({ id, name }) => [id, `minecraft:${name}`]));
  const recipes = read(join(data, folders.recipes, "recipes.json")) as Record<string, Listed[]>;
  return Object.values(recipes).flatMap((list) =>
    list.flatMap((listed) => {
      const entry = entryOf(listed, names);
      return entry ? [entry] : [];
    }),
  );
}

/** Ids are numbers; a slot may be null, or an object where an item has variants. */
type Slot = number | null | { readonly id?: number | null };

interface Listed {
  readonly inShape?: readonly (readonly Slot[])[];
  readonly ingredients?: readonly Slot[];
  readonly result?: { readonly id: number; readonly count?: number };
}

/** Undefined where it names nothing that we know. */
function entryOf(listed: Listed, names: ReadonlyMap<number, string>): RecipeEntry | undefined {
  const output = listed.result && names.get(listed.result.id);
  const found = new Map<string, Ingredient>();
  for (const slot of listed.inShape?.flat() ?? listed.ingredients ?? []) {
    const number = typeof slot === "object" ? slot?.id : slot;
    if (number === null || number === undefined || number < 0) continue;
    const id = names.get(number);
    if (id === undefined) return undefined;
    found.set(id, { kind: "item", id, count: (found.get(id)?.count ?? 0) + 1 });
  }
  // Some versions list recipes of nothing ("air"), whose results are in the items' data.
  if (output === undefined || output === "minecraft:air" || found.size === 0) return undefined;
  return { output, count: listed.result?.count ?? 1, ingredients: [...found.values()] };
}

/** Where the user's program, or ours, would find the package. */
function packageFolder(): string {
  for (const place of [resolve("here.js"), import.meta.url])
    try {
      return dirname(createRequire(place).resolve("minecraft-data/package.json"));
    } catch {
      // The next place may have it.
    }
  throw new EnvironmentError(
    "textcraft",
    "the package minecraft-data is not installed. npm install minecraft-data (430 MB) gets it; " +
      "data=builtin needs nothing.",
  );
}

function read(path: string): unknown {
  try {
    if (existsSync(path)) return JSON.parse(readFileSync(path, "utf8")) as unknown;
  } catch (error) {
    throw new EnvironmentError("textcraft", `${path} cannot be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
  throw new EnvironmentError(
    "textcraft",
    `there is no ${path}; is this another version of minecraft-data? 3.117.0 has it.`,
  );
}
