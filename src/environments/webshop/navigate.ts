/**
 * @file Where an action leads: a page and an action in, the next page out.
 */
import type { Random } from "../random.ts";
import type { Action } from "./action.ts";
import {
  type Chosen,
  type ItemPage,
  type ItemSubPage,
  type Page,
  type ResultsPage,
  SUB_PAGES,
} from "./page.ts";
import { addressOf, pageNameOf } from "./pages/address.ts";
import { clickablesOf, type Target } from "./pages/clickable.ts";
import { BACK_TO_SEARCH, BUY_NOW, NEXT_PAGE, PREVIOUS_PAGE } from "./pages/content.ts";
import type { Catalogue } from "./product.ts";
import type { View } from "./view.ts";

/** What came of an action. "buy" ends the episode; whoever knows the goal makes the last page. */
export type Move =
  | { readonly kind: "nothing" }
  | { readonly kind: "page"; readonly page: Page }
  | { readonly kind: "buy"; readonly page: ItemPage };

const NOTHING: Move = { kind: "nothing" };
const INDEX: Move = { kind: "page", page: { kind: "index" } };
const MOST_HITS = 50;
/** Searches by category, query or attribute go through the products; no further than this. */
const MOST_SCANNED = 20_000;

/** `random` is for the search for anything, `<r>`. */
export function navigate(
  page: Page,
  { name, argument }: Action,
  view: View,
  random: () => Random,
): Move {
  if (argument === undefined) return NOTHING;
  if (name === "search") return { kind: "page", page: searched(page, argument, view, random) };
  // The search button does nothing by itself.
  if (name !== "click" || argument === "search") return NOTHING;
  const target = clickablesOf(page, view).get(argument);
  return target ? clicked(page, argument, target, view, random) : NOTHING;
}

function clicked(
  page: Page,
  argument: string,
  target: Target,
  view: View,
  random: () => Random,
): Move {
  // Names go before what was clicked: an option that is called as a button is does what the button does.
  if (argument === BACK_TO_SEARCH.toLowerCase()) return INDEX;
  if (page.kind === "index" || page.kind === "done") return NOTHING;
  if (argument === BUY_NOW.toLowerCase() && page.kind === "item") return { kind: "buy", page };
  if (argument === NEXT_PAGE.toLowerCase() || argument === PREVIOUS_PAGE.toLowerCase()) {
    const turned = turn(page, argument === NEXT_PAGE.toLowerCase(), view, random);
    if (turned) return { kind: "page", page: turned };
  }
  const subPage = SUB_PAGES.find((name) => name.toLowerCase() === argument);
  if (subPage && page.kind === "item")
    return { kind: "page", page: { ...page, kind: "sub", name: subPage } };
  if (target.kind === "product" && page.kind === "results")
    return { kind: "page", page: opened(page, target.product) };
  if (target.kind === "option" && page.kind === "item") {
    const chosen = withChoice(page.chosen, target.option.toLowerCase(), argument);
    return { kind: "page", page: { ...page, chosen } };
  }
  return NOTHING;
}

/** Turning pages by the address, as the original does. Undefined where that means nothing here. */
function turn(
  page: ResultsPage | ItemPage | ItemSubPage,
  forward: boolean,
  view: View,
  random: () => Random,
): Page | undefined {
  const { keywords, number, visited } = page;
  const name = pageNameOf(addressOf(page, view));
  const results = (at: number): ResultsPage => ({
    ...{ kind: "results", keywords, visited, number: at },
    // Asked again, as there, because a search for anything finds something else each time.
    hits: keywords[0] === "<r>" ? hitsOf(keywords, view.catalogue, random) : page.hits,
  });
  if (name === "search_results") return results(forward ? number + 1 : number - 1);
  if (forward) return undefined;
  if (name === "item_page") return results(number);
  return name === "item_sub_page" && page.kind === "sub" ? { ...page, kind: "item" } : undefined;
}

function opened({ keywords, hits, number, visited }: ResultsPage, product: number): ItemPage {
  const seen = visited.includes(product) ? visited : [...visited, product];
  return { kind: "item", keywords, hits, number, visited: seen, product, chosen: [] };
}

/** A value replaces that of the same option and keeps its place. */
function withChoice(chosen: Chosen, option: string, value: string): Chosen {
  const known = chosen.some(([name]) => name === option);
  if (!known) return [...chosen, [option, value]];
  return chosen.map((pair) => (pair[0] === option ? [option, value] : pair));
}

function searched(page: Page, query: string, view: View, random: () => Random): ResultsPage {
  const keywords = query.split(" ");
  const hits = hitsOf(keywords, view.catalogue, random);
  const visited = page.kind === "index" || page.kind === "done" ? [] : page.visited;
  return { kind: "results", keywords, hits, number: 1, visited };
}

/**
 * The best products for the words, or what a first word in angle brackets asks for: anything, a
 * category, a query, an attribute.
 */
function hitsOf(
  keywords: readonly string[],
  catalogue: Catalogue,
  random: () => Random,
): readonly number[] {
  const rest = keywords.slice(1).join(" ").trim();
  switch (keywords[0]) {
    case "<r>":
      return anyProducts(catalogue.size, random());
    case "<c>":
      return filtered(catalogue, (product) => product.category === (keywords[1] ?? "").trim());
    case "<q>":
      return filtered(catalogue, (product) => product.query === rest);
    case "<a>":
      return filtered(catalogue, (product) => product.attributes.includes(rest));
    default:
      return catalogue.search(keywords.join(" "), MOST_HITS);
  }
}

function anyProducts(size: number, random: Random): number[] {
  const drawn = new Set<number>();
  while (drawn.size < Math.min(MOST_HITS, size)) drawn.add(random.integer(size));
  return [...drawn];
}

function filtered(
  catalogue: Catalogue,
  wanted: (product: ReturnType<Catalogue["product"]>) => boolean,
): number[] {
  const found: number[] = [];
  const end = Math.min(catalogue.size, MOST_SCANNED);
  for (let i = 0; i < end; i++) if (wanted(catalogue.product(i))) found.push(i);
  return found;
}
