/**
 * @file What can be clicked on a page.
 */
import { type Page, shownHits } from "../page.ts";
import type { ProductOption } from "../product.ts";
import type { View } from "../view.ts";
import { BACK_TO_SEARCH, BUY_NOW, NEXT_PAGE, PREVIOUS_PAGE } from "./content.ts";

/** A button, a product by index, or a value of an option. */
export type Target =
  | { readonly kind: "button" }
  | { readonly kind: "product"; readonly product: number }
  | { readonly kind: "option"; readonly option: string };

/** By what has to be said to click it, in the order of the original's list. */
export type Clickables = ReadonlyMap<string, Target>;

const BUTTON: Target = { kind: "button" };
const NOTHING: Clickables = new Map();
const SEARCH: Clickables = new Map([["search", BUTTON]]);
const HEAD = [BACK_TO_SEARCH, PREVIOUS_PAGE];
const ITEM = [...HEAD, "Description", "Features", "Reviews", BUY_NOW];
const ITEM_WITH_ATTRIBUTES = [...HEAD, "Description", "Features", "Reviews", "Attributes", BUY_NOW];
const SUB_PAGE: Clickables = buttons(HEAD);

/** The same product has the same list on every visit, with and without the attributes' button. */
const ofItems = [new WeakMap<object, Clickables>(), new WeakMap<object, Clickables>()] as const;

export function clickablesOf(page: Page, { catalogue, showAttributes }: View): Clickables {
  switch (page.kind) {
    case "index":
      return SEARCH;
    case "results": {
      const names =
        page.number > 1 ? [BACK_TO_SEARCH, PREVIOUS_PAGE, NEXT_PAGE] : [BACK_TO_SEARCH, NEXT_PAGE];
      const list = buttons(names);
      for (const product of shownHits(page))
        list.set(catalogue.product(product).asin.toLowerCase(), { kind: "product", product });
      return list;
    }
    case "item": {
      const product = catalogue.product(page.product);
      const known = ofItems[showAttributes ? 1 : 0];
      let list = known.get(product);
      if (!list) {
        list = itemList(product.options, showAttributes);
        known.set(product, list);
      }
      return list;
    }
    case "sub":
      return SUB_PAGE;
    case "done":
      return NOTHING;
  }
}

/** Lists belong to their clickables, which items of a shop share. */
const actionsOf = new WeakMap<Clickables, readonly string[]>();

/** All of it as actions; on the search page with the search, whose words are for the agent to fill in. */
export function admissibleActions(page: Page, view: View): readonly string[] {
  const clickables = clickablesOf(page, view);
  const known = actionsOf.get(clickables);
  if (known) return known;
  const list = page.kind === "index" ? ["search[<your query>]"] : [];
  for (const name of clickables.keys()) list.push(`click[${name}]`);
  // Frozen, because all observations of the page share it.
  actionsOf.set(clickables, Object.freeze(list));
  return list;
}

/** A value that two options have belongs to the later one. */
function itemList(options: readonly ProductOption[], showAttributes: boolean): Clickables {
  const list = buttons(showAttributes ? ITEM_WITH_ATTRIBUTES : ITEM);
  for (const { name, values } of options)
    for (const value of values) list.set(value, { kind: "option", option: name });
  return list;
}

function buttons(names: readonly string[]): Map<string, Target> {
  return new Map(names.map((name) => [name.toLowerCase(), BUTTON]));
}
