/**
 * @file The scripted expert. It knows the commands of the task's text and what it was answered: not
 * which words are tags, nor what can be got. It makes a book of recipes of its own from them and plans
 * with that. It tries to get what no command makes; a word that cannot be got must be a tag, and what
 * has a name that ends with it is one of its items.
 */
import type { Expert } from "../environment.ts";
import { type RecipeEntry, recipeBook } from "./book.ts";
import { shortestPlan } from "./planner.ts";
import { idOf, nameOf } from "./recipe.ts";
import type { Inventory } from "./rules.ts";

export function craftingExpert(): Expert {
  let goal: string | undefined;
  let commands: readonly RecipeEntry[] = [];
  const carried = new Map<string, number>();
  const tags = new Set<string>();
  /** Items that only look as if they belonged to a tag. */
  const strangers = new Set<string>();
  let plan: string[] = [];
  let last = "";
  return {
    act({ text }) {
      if (goal === undefined) {
        goal = idOf(/^Goal: craft (.*)\.$/m.exec(text)?.[1] ?? "");
        commands = commandsIn(text);
      } else if (!remember(carried, last, text)) {
        // Something is not as it was thought: think again.
        plan = [];
        const [, name] = /^get \d+ (.*)$/.exec(last) ?? [];
        if (name !== undefined) tags.add(idOf(name));
        for (const { id } of usedIn(last)) if (tagOf(id, tags)) strangers.add(id);
      }
      if (plan.length === 0) {
        const book = recipeBook(withTags(commands, tags, strangers));
        plan = [...(shortestPlan(book, inventoryOf(carried), goal) ?? [])];
      }
      last = plan.shift() ?? "inventory";
      return last;
    },
  };
}

function commandsIn(text: string): RecipeEntry[] {
  return [...text.matchAll(/^craft (\d+) (.+) using (.+)$/gm)].map(([, count, output, used]) => ({
    output: idOf(output!),
    count: Number(count),
    ingredients: used!.split(", ").map((part) => {
      const [, count, name] = /^(\d+) (.*)$/.exec(part) ?? [];
      return { kind: "item" as const, id: idOf(name ?? part), count: Number(count ?? 1) };
    }),
  }));
}

/** The same, with ingredients and outputs that belong to the tags. */
function withTags(
  commands: readonly RecipeEntry[],
  tags: ReadonlySet<string>,
  strangers: ReadonlySet<string>,
): RecipeEntry[] {
  return commands.map((command) => ({
    ...command,
    ingredients: command.ingredients.map((ingredient) =>
      tags.has(ingredient.id) ? { ...ingredient, kind: "tag" } : ingredient,
    ),
    tag: strangers.has(command.output) ? undefined : tagOf(command.output, tags),
  }));
}

/** By its name: "oak planks" are planks. */
function tagOf(id: string, tags: ReadonlySet<string>): string | undefined {
  return [...tags].find((tag) => nameOf(id).endsWith(` ${nameOf(tag)}`));
}

/** The ingredients of a crafting command. */
function usedIn(action: string): { id: string; count: number }[] {
  return [...action.matchAll(/(?: using|,) (\d+) ([^,]+)/g)].map(([, count, name]) => ({
    id: idOf(name!),
    count: Number(count),
  }));
}

/** Keeps count of what is carried; false when the action came to nothing. */
function remember(carried: Map<string, number>, action: string, answer: string): boolean {
  const add = (id: string, count: number): void => {
    carried.set(id, (carried.get(id) ?? 0) + count);
  };
  const [, count, name] = /^get (\d+) (.*)$/.exec(action) ?? [];
  if (name !== undefined && answer.startsWith("Got ")) {
    add(idOf(name), Number(count));
    return true;
  }
  const [, made, output] = /^Crafted (\d+) (.*)$/.exec(answer) ?? [];
  if (output === undefined) return false;
  for (const { id, count } of usedIn(action)) add(id, -count);
  add(output, Number(made));
  return true;
}

function inventoryOf(carried: ReadonlyMap<string, number>): Inventory {
  return [...carried].filter(([, count]) => count > 0);
}
