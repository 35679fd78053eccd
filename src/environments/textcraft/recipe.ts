/**
 * @file A recipe: what goes in, what comes out, and how a task's text states it.
 */

/** An item by its id, or any item of a tag (a kind of items, such as "minecraft:planks"). */
export interface Ingredient {
  readonly kind: "item" | "tag";
  /** "minecraft:oak_planks" */
  readonly id: string;
  readonly count: number;
}

export interface Recipe {
  readonly output: string;
  /** How many one crafting makes. */
  readonly count: number;
  readonly ingredients: readonly Ingredient[];
}

const NAMESPACE = "minecraft:";

/** "minecraft:oak_planks" is shown as "oak planks". */
export function nameOf(id: string): string {
  return id.replace(/^minecraft:/, "").replaceAll("_", " ");
}

export function idOf(name: string): string {
  return NAMESPACE + name.replaceAll(" ", "_");
}

export function commandOf({ output, count, ingredients }: Recipe): string {
  const used = ingredients.map(({ count, id }) => `${count} ${nameOf(id)}`);
  return `craft ${count} ${nameOf(output)} using ${used.join(", ")}`;
}
