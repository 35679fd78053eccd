/**
 * @file A book of recipes: what can be crafted from what, what is a tag, and how deep it goes.
 *
 * Recipes are added in order, and one that would make a thing out of itself, through the recipes
 * before it, is left out: what one can craft can never be used up in a circle.
 */
import type { Ingredient, Recipe } from "./recipe.ts";

export interface RecipeBook {
  /** The recipes that make each item, in the order of loading. */
  readonly recipes: ReadonlyMap<string, readonly Recipe[]>;
  /** The items of each tag that can be crafted; a tag without any counts as an item. */
  readonly tags: ReadonlyMap<string, readonly string[]>;
  /** Everything that can be named: crafted or found. */
  readonly items: ReadonlySet<string>;
  /** What can be crafted, by depth, then by the order of loading. */
  readonly craftable: readonly string[];
  /** How many craftings one after another an item takes at least; 0 for what is found. */
  depth(id: string): number;
  /** An item or tag comes after everything that it may be made of. */
  rank(id: string): number;
}

/** A recipe as it was read, with the tag that its output belongs to. */
export interface RecipeEntry extends Recipe {
  readonly tag?: string | undefined;
}

export function recipeBook(entries: Iterable<RecipeEntry>): RecipeBook {
  const recipes = new Map<string, Recipe[]>();
  const tags = new Map<string, string[]>();
  const items = new Set<string>();
  /** What each item or tag is made of, directly. */
  const parts = new Map<string, Set<string>>();
  /** What something is made of: only these can close a circle. */
  const used = new Set<string>();
  const edge = (from: string, to: string): void => {
    parts.set(from, (parts.get(from) ?? new Set()).add(to));
    used.add(to);
  };
  for (const { tag, ...recipe } of entries) {
    const { output, ingredients } = recipe;
    items.add(output);
    for (const { kind, id } of ingredients) if (kind === "item") items.add(id);
    // Taking a block apart again.
    if (ingredients.length === 1 && ingredients[0]!.id.endsWith("_block")) continue;
    const ends = new Set(tag === undefined ? [output] : [output, tag]);
    const isUsed = [...ends].some((id) => used.has(id));
    if (ingredients.some(({ id }) => ends.has(id) || (isUsed && reaches(parts, id, ends))))
      continue;
    recipes.set(output, [...(recipes.get(output) ?? []), recipe]);
    for (const { id } of ingredients) edge(output, id);
    if (tag === undefined || tag === output) continue;
    const members = tags.get(tag) ?? [];
    if (!members.includes(output)) tags.set(tag, [...members, output]);
    edge(tag, output);
  }
  const plain = (ingredient: Ingredient): Ingredient =>
    ingredient.kind === "tag" && !tags.has(ingredient.id)
      ? { ...ingredient, kind: "item" }
      : ingredient;
  for (const [output, list] of recipes) {
    const cleaned = list.map((recipe) => ({
      ...recipe,
      ingredients: recipe.ingredients.map(plain),
    }));
    recipes.set(output, cleaned);
    for (const { ingredients } of cleaned)
      for (const { kind, id } of ingredients) if (kind === "item") items.add(id);
  }
  const rank = ranks(parts);
  const deep = depths(rank, recipes, tags);
  const depth = (id: string): number => deep.get(id) ?? 0;
  const craftable = [...recipes.keys()].sort((a, b) => depth(a) - depth(b));
  return { recipes, tags, items, craftable, depth, rank: (id) => rank.get(id) ?? 0 };
}

/** Whether one of `ends` is `from` itself or something that `from` is made of. */
function reaches(
  parts: ReadonlyMap<string, ReadonlySet<string>>,
  from: string,
  ends: ReadonlySet<string>,
): boolean {
  const seen = new Set<string>([from]);
  for (const id of seen) {
    if (ends.has(id)) return true;
    for (const part of parts.get(id) ?? []) seen.add(part);
  }
  return false;
}

/** The longest way down from each; there are no circles. A list in place of calls: ways may be long. */
function ranks(parts: ReadonlyMap<string, ReadonlySet<string>>): ReadonlyMap<string, number> {
  const known = new Map<string, number>();
  const waiting = [...parts.keys()];
  while (waiting.length > 0) {
    const id = waiting.at(-1)!;
    const below = [...(parts.get(id) ?? [])];
    const unknown = below.filter((part) => !known.has(part));
    if (unknown.length > 0 && !known.has(id)) {
      waiting.push(...unknown);
      continue;
    }
    waiting.pop();
    known.set(id, 1 + Math.max(-1, ...below.map((part) => known.get(part)!)));
  }
  return known;
}

/** From the bottom up: what an item is made of has a lower rank. */
function depths(
  rank: ReadonlyMap<string, number>,
  recipes: ReadonlyMap<string, readonly Recipe[]>,
  tags: ReadonlyMap<string, readonly string[]>,
): ReadonlyMap<string, number> {
  const known = new Map<string, number>();
  const of = (id: string): number => known.get(id) ?? 0;
  const upwards = [...rank].sort(([, a], [, b]) => a - b);
  for (const [id] of upwards) {
    const made = recipes.get(id)?.map(({ ingredients }) => {
      return 1 + Math.max(...ingredients.map(({ id }) => of(id)));
    });
    const members = tags.get(id)?.map(of);
    if (made || members) known.set(id, Math.min(...(made ?? members!)));
  }
  return known;
}
