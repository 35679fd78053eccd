/**
 * @file The text of a task: the recipes that lead to its goal among some that do not.
 */
import type { Random } from "../random.ts";
import type { RecipeBook } from "./book.ts";
import { commandOf, nameOf, type Recipe } from "./recipe.ts";

export interface TaskText {
  readonly text: string;
  readonly instruction: string;
}

/** `distractors` more recipes of the same ingredients, at most. */
export function taskText(
  book: RecipeBook,
  goal: string,
  distractors: number,
  random: Random,
): TaskText {
  const needed = treeOf(book, goal);
  const ingredients = new Set(
    [...needed].flatMap((recipe) => recipe.ingredients.map(({ id }) => id)),
  );
  const others = [...book.recipes.values()]
    .flat()
    .filter(
      (recipe) => !needed.has(recipe) && recipe.ingredients.some(({ id }) => ingredients.has(id)),
    );
  const chosen = [...needed, ...random.shuffled(others).slice(0, distractors)];
  const commands = random.shuffled(chosen).map(commandOf);
  const instruction = `Goal: craft ${nameOf(goal)}.`;
  return {
    text: `Crafting commands:\n${commands.join("\n")}\n\n${instruction}`,
    instruction,
  };
}

/** Every recipe that may have a part in making the goal. */
export function treeOf(book: RecipeBook, goal: string): ReadonlySet<Recipe> {
  const wanted = new Set([goal]);
  const recipes = new Set<Recipe>();
  for (const id of wanted) {
    for (const member of book.tags.get(id) ?? []) wanted.add(member);
    for (const recipe of book.recipes.get(id) ?? []) {
      recipes.add(recipe);
      for (const { id } of recipe.ingredients) wanted.add(id);
    }
  }
  return recipes;
}
