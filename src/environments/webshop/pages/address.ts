/**
 * @file The address of a page, which is also the observation in mode `url`.
 */

import { jsonDictionary, reprDictionary } from "../../python-text.ts";
import type { Page } from "../page.ts";
import type { View } from "../view.ts";

const BASE = "http://127.0.0.1:3000";

export function addressOf(page: Page, { session, catalogue }: View): string {
  if (page.kind === "index") return `${BASE}/${session}`;
  if (page.kind === "results")
    return `${BASE}/search_results/${session}/${page.keywords.join("+")}/${page.number}`;
  const { asin } = catalogue.product(page.product);
  if (page.kind === "done") return `${BASE}/done/${session}/${asin}/${reprDictionary(page.chosen)}`;
  const place = `${session}/${asin}/${page.keywords.join("+")}/${page.number}`;
  return page.kind === "item"
    ? `${BASE}/item_page/${place}/${jsonDictionary(page.chosen)}`
    : `${BASE}/item_sub_page/${place}/${page.name}/${reprDictionary(page.chosen)}`;
}

export type PageName = "search_results" | "item_page" | "item_sub_page" | "done" | "";

/**
 * What the original takes a page for: it looks for names in the address, so the words of a search
 * count as well.
 */
export function pageNameOf(address: string): PageName {
  const names = ["search_results", "item_page", "item_sub_page", "done"] as const;
  return names.find((name) => address.includes(name)) ?? "";
}
