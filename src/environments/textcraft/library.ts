/**
 * @file Where recipes come from: our own, a folder or archive in the game's format, minecraft-data.
 */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { ArchiveError } from "../archive/error.ts";
import { ARCHIVES, archivedFiles, isArchive } from "../archive/files.ts";
import { EnvironmentError } from "../environment.ts";
import { type RecipeBook, type RecipeEntry, recipeBook } from "./book.ts";
import { minecraftDataRecipes } from "./minecraft-data.ts";
import { ownRecipes } from "./own-recipes.ts";
import { RecipeError, readRecipe } from "./recipe-file.ts";

const LARGEST_FILE = 1_000_000;
const MOST_RECIPES = 10_000;

/**
 * Loading order decides which recipe of a circle is kept. The original's was the file system's; these
 * two first, then by name, gives the recipes that its published games were played with.
 */
const FIRST = ["iron_nugget.json", "honey_bottle.json"];

export async function openRecipes(data: string): Promise<RecipeBook> {
  const entries = await entriesOf(data);
  if (entries.length > MOST_RECIPES)
    fail(`${data} holds ${entries.length} recipes; at most ${MOST_RECIPES} can be used.`);
  const book = recipeBook(entries);
  if (book.craftable.length === 0)
    fail(
      `${data} holds no crafting recipes. They are files as data/minecraft/recipes/stick.json of the game.`,
    );
  return book;
}

async function entriesOf(data: string): Promise<RecipeEntry[]> {
  if (data === "builtin") return ownRecipes();
  if (/^minecraft-data(@|$)/.test(data)) return minecraftDataRecipes(data);
  if (!existsSync(data))
    return fail(
      `there is nothing at ${data}. Give a folder of recipes, a ${ARCHIVES} of one, "minecraft-data" or "builtin".`,
    );
  const files = await filesOf(data).catch((error: unknown) => {
    if (error instanceof ArchiveError)
      return fail(`${data} cannot be read: ${error.message}`, error);
    throw error;
  });
  const order = (name: string): number =>
    (FIRST.indexOf(name) + FIRST.length + 1) % (FIRST.length + 1);
  files.sort(
    ([a], [b]) => order(basename(a)) - order(basename(b)) || (basename(a) < basename(b) ? -1 : 1),
  );
  return files.flatMap(([path, text]) => {
    try {
      const recipe = readRecipe(text);
      return recipe ? [recipe] : [];
    } catch (error) {
      if (!(error instanceof RecipeError)) throw error;
      return fail(`the recipe ${path} in ${data} cannot be used: ${error.message}`, error);
    }
  });
}

async function filesOf(data: string): Promise<[path: string, text: string][]> {
  const wanted = (path: string): boolean => path.endsWith(".json");
  const found: [string, string][] = [];
  const add = (path: string, text: string): void => {
    found.push([path, text]);
    if (found.length > MOST_RECIPES)
      fail(`${data} holds more than ${MOST_RECIPES} files; give the folder of the recipes.`);
  };
  if (isArchive(data)) {
    for await (const { path, bytes } of archivedFiles(data, wanted, LARGEST_FILE))
      add(path, new TextDecoder().decode(bytes));
    return found;
  }
  if (!statSync(data).isDirectory()) fail(`${data} is neither a folder nor a ${ARCHIVES}.`);
  // The original's folder has its recipes in a folder of this name.
  const inner = join(data, "recipes");
  const folder = existsSync(inner) ? inner : data;
  for (const name of readdirSync(folder).filter(wanted)) {
    const path = join(folder, name);
    const { size } = statSync(path);
    if (size > LARGEST_FILE) fail(`${path} has ${size} bytes; at most ${LARGEST_FILE} are read.`);
    add(name, readFileSync(path, "utf8"));
  }
  return found;
}

function fail(message: string, cause?: unknown): never {
  throw new EnvironmentError("textcraft", message, cause === undefined ? {} : { cause });
}
