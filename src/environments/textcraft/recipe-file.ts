/**
 * @file Reads one recipe in the game's own format (data/minecraft/recipes/*.json).
 *
 * Only crafting on the grid is used; smelting, stone cutting and the like are passed over, as in the
 * original.
 */
import type { RecipeEntry } from "./book.ts";
import type { Ingredient } from "./recipe.ts";

/** What is wrong with a recipe; whoever knows the file adds its name. */
export class RecipeError extends Error {
  override name = "RecipeError";
}

/** A grid has three rows of three; more than this in one place is a mistake. */
const MOST_SYMBOLS = 81;
const MOST_ITEMS = 1_000_000;
const ID = /^[\w.:/-]{1,200}$/;

type Fields = Readonly<Record<string, unknown>>;

/** Undefined for kinds of recipe that are not used. */
export function readRecipe(text: string): RecipeEntry | undefined {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new RecipeError(`it is not JSON (${(error as Error).message}).`);
  }
  const recipe = fields(json, "it");
  const ingredients =
    recipe.type === "minecraft:crafting_shaped"
      ? shaped(recipe)
      : recipe.type === "minecraft:crafting_shapeless"
        ? shapeless(recipe)
        : undefined;
  if (typeof recipe.type !== "string") throw new RecipeError('it has no "type".');
  if (!ingredients) return undefined;
  if (ingredients.length === 0) throw new RecipeError("it has no ingredients.");
  const { result, group } = recipe;
  const { item, count = 1 } =
    typeof result === "string" ? { item: result } : fields(result, "result");
  if (!Number.isInteger(count) || Number(count) < 1 || Number(count) > MOST_ITEMS)
    throw new RecipeError(`"result.count" must be a whole number from 1, not ${shown(count)}.`);
  const tag = typeof group === "string" && group !== "" ? `minecraft:${group}` : undefined;
  return { output: id(item, "result.item"), count: Number(count), ingredients, tag };
}

/** A pattern of symbols and a key of what each is. */
function shaped(recipe: Fields): Ingredient[] {
  const { pattern } = recipe;
  if (!Array.isArray(pattern) || pattern.some((row) => typeof row !== "string"))
    throw new RecipeError('"pattern" must be a list of texts.');
  const symbols = pattern.join("");
  if (symbols.length > MOST_SYMBOLS) throw new RecipeError('"pattern" is too large.');
  return Object.entries(fields(recipe.key, "key")).map(([symbol, value]) => {
    const count = Array.from(symbols).filter((other) => other === symbol).length;
    if (count === 0) throw new RecipeError(`the symbol ${shown(symbol)} is not in the pattern.`);
    return ingredient(value, `key ${shown(symbol)}`, count);
  });
}

/** A list, with repeats. */
function shapeless({ ingredients }: Fields): Ingredient[] {
  if (!Array.isArray(ingredients) || ingredients.length > MOST_SYMBOLS)
    throw new RecipeError('"ingredients" must be a list, and not a long one.');
  const found = new Map<string, Ingredient>();
  for (const [index, value] of ingredients.entries()) {
    const one = ingredient(value, `ingredients[${index}]`, 1);
    const key = `${one.kind} ${one.id}`;
    found.set(key, { ...one, count: (found.get(key)?.count ?? 0) + 1 });
  }
  return [...found.values()];
}

/** An item or a tag; of a list of alternatives the first. */
function ingredient(value: unknown, place: string, count: number): Ingredient {
  const { item, tag } = fields(Array.isArray(value) ? value[0] : value, place);
  return item === undefined
    ? { kind: "tag", id: id(tag, `${place}.tag`), count }
    : { kind: "item", id: id(item, `${place}.item`), count };
}

function id(value: unknown, place: string): string {
  if (typeof value === "string" && ID.test(value)) return value;
  throw new RecipeError(`"${place}" must be an id such as "minecraft:stick", not ${shown(value)}.`);
}

function fields(value: unknown, place: string): Fields {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Fields;
  throw new RecipeError(`${place} must be an object, not ${shown(value)}.`);
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "missing";
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
