/**
 * @file What actions do: craft, get, inventory.
 */
import type { RecipeBook } from "./book.ts";
import { idOf, nameOf, type Recipe } from "./recipe.ts";

/** What is carried, in the order in which it was first picked up. Replaced, never changed. */
export type Inventory = readonly (readonly [id: string, count: number])[];

export interface Outcome {
  readonly text: string;
  readonly inventory: Inventory;
  /** What was crafted or got. */
  readonly item?: string;
  /** Whether anything came of it. */
  readonly understood: boolean;
}

/** Amounts are unlimited, but numbers of more digits than this are nonsense. */
const DIGITS = 9;
/** Nothing that makes sense is longer. */
const LONGEST_ACTION = 10_000;

export function act(book: RecipeBook, inventory: Inventory, action: string): Outcome {
  const nothing = (text: string): Outcome => ({ text, inventory, understood: false });
  if (action.length <= LONGEST_ACTION) {
    const craft = /^craft ([^\n]*) using ([^\n]*)/.exec(action);
    if (craft) return crafted(book, inventory, craft[1]!, craft[2]!);
    const get = /^get ([0-9]+) ([^\n]*)/.exec(action);
    if (get && get[1]!.length <= DIGITS) {
      const [count, item] = [Number(get[1]), idOf(get[2]!)];
      const isFound = book.items.has(item) && !book.recipes.has(item) && !book.tags.has(item);
      if (!isFound) return nothing(`Could not find ${get[2]}`);
      const text = `Got ${count} ${get[2]}`;
      return { text, inventory: changed(inventory, item, count), item, understood: true };
    }
    if (action.startsWith("inventory"))
      return { text: listed(inventory), inventory, understood: true };
  }
  return nothing(`Could not execute ${shortened(action)}`);
}

interface Entry {
  readonly id: string;
  readonly count: number;
}

function crafted(book: RecipeBook, inventory: Inventory, made: string, used: string): Outcome {
  const nothing = (text: string): Outcome => ({ text, inventory, understood: false });
  const entries: Entry[] = [];
  for (const part of used.split(",").map((part) => part.trim())) {
    const [, count, name] = /^([0-9]+) (.*)$/.exec(part) ?? [];
    if (count === undefined || name === undefined || count.length > DIGITS)
      return nothing(`Wrong item format: ${part}`);
    entries.push({ id: idOf(name), count: Number(count) });
  }
  const [, number, name] = /^([0-9]+) (.*)$/.exec(made) ?? [];
  const output = idOf(name ?? made);
  // Entries of the same item count together: nothing can be used twice.
  const left = entries.reduce((rest, { id, count }) => changed(rest, id, -count), inventory);
  const isThere = entries.every(({ id }) => countOf(inventory, id) !== undefined);
  if (!isThere || left.some(([, count]) => count < 0))
    return nothing(`Could not find enough items to craft ${output}`);
  const recipe = book.recipes.get(output)?.find((recipe) => matches(book, recipe, entries));
  if (!recipe)
    return nothing(
      `Could not find a valid recipe for ItemTagWithCount(item_tag=ItemTag(tag=None, ` +
        `item_id=${pythonText(output)}), count=${Number(number ?? 1)})`,
    );
  return {
    text: `Crafted ${recipe.count} ${output}`,
    inventory: changed(
      left.filter(([, count]) => count > 0),
      output,
      recipe.count,
    ),
    item: output,
    understood: true,
  };
}

/** Each ingredient is one of the entries, with the same count; a tag may be any of its items. */
function matches(book: RecipeBook, { ingredients }: Recipe, entries: readonly Entry[]): boolean {
  if (ingredients.length !== entries.length) return false;
  const left = [...entries];
  // Items before tags: an item that a tag would also take must not be lost to it.
  const ordered = [...ingredients].sort(
    (a, b) => Number(a.kind === "tag") - Number(b.kind === "tag"),
  );
  return ordered.every(({ kind, id, count }) => {
    const fits = (entry: Entry): boolean =>
      entry.count === count &&
      (kind === "item" ? entry.id === id : (book.tags.get(id) ?? []).includes(entry.id));
    const place = left.findIndex(fits);
    if (place < 0) return false;
    left.splice(place, 1);
    return true;
  });
}

export function countOf(inventory: Inventory, id: string): number | undefined {
  return inventory.find(([other]) => other === id)?.[1];
}

function changed(inventory: Inventory, id: string, by: number): Inventory {
  return countOf(inventory, id) === undefined
    ? [...inventory, [id, by]]
    : inventory.map((entry) => (entry[0] === id ? [id, entry[1] + by] : entry));
}

export function listed(inventory: Inventory): string {
  const items = inventory.map(([id, count]) => `[${nameOf(id)}] (${count}) `);
  return `Inventory: ${items.length > 0 ? items.join("") : "You are not carrying anything."}`;
}

function shortened(action: string): string {
  return action.length > LONGEST_ACTION ? `${action.slice(0, 100)}…` : action;
}

/** As Python prints a text: the original answers with one of its own records. */
function pythonText(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replaceAll("\\", "\\\\").replaceAll("\t", "\\t").replaceAll("\r", "\\r");
  return quote + (quote === "'" ? escaped.replaceAll("'", "\\'") : escaped) + quote;
}
