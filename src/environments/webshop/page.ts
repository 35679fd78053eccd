/**
 * @file Where a shopper is. Pages are never changed: a click makes another one.
 */

/** The chosen value of each option, in the order in which options were first chosen. */
export type Chosen = readonly (readonly [string, string])[];

/** The sub pages of a product, as their buttons are called. */
export const SUB_PAGES = ["Description", "Features", "Reviews", "Attributes"] as const;
export type SubPage = (typeof SUB_PAGES)[number];

interface Results {
  readonly keywords: readonly string[];
  /** Products by index, best first. */
  readonly hits: readonly number[];
  /** From 1; further pages than there are results for are empty. */
  readonly number: number;
  /** Products that were opened since the last look at the search page. */
  readonly visited: readonly number[];
}

export interface IndexPage {
  readonly kind: "index";
}

export interface ResultsPage extends Results {
  readonly kind: "results";
}

export interface ItemPage extends Results {
  readonly kind: "item";
  readonly product: number;
  readonly chosen: Chosen;
}

export interface ItemSubPage extends Results {
  readonly kind: "sub";
  readonly product: number;
  readonly chosen: Chosen;
  readonly name: SubPage;
}

export interface DonePage {
  readonly kind: "done";
  readonly product: number;
  readonly chosen: Chosen;
  readonly score: number;
}

export type Page = IndexPage | ResultsPage | ItemPage | ItemSubPage | DonePage;

const PER_PAGE = 10;

/** The products of a page of results. Negative numbers count from the end, as in Python. */
export function shownHits({ hits, number }: Results): readonly number[] {
  return hits.slice((number - 1) * PER_PAGE, number * PER_PAGE);
}
