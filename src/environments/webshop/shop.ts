/**
 * @file A shop: products and what to buy.
 */
import type { Goal } from "./goal.ts";
import type { Catalogue } from "./product.ts";

export interface Shop {
  readonly catalogue: Catalogue;
  /** Where there are several shops: that of a goal, by its id. */
  catalogueOf?(goal: string): Catalogue;
  readonly goals: ShopGoals;
  /** For people: "1000 products and 6910 synthetic goals in data/webshop". */
  readonly source: string;
  close?(): void;
}

/** Where a goal is to be shopped for. */
export function catalogueFor(shop: Shop, goal: string): Catalogue {
  return shop.catalogueOf?.(goal) ?? shop.catalogue;
}

/** The goals of a shop by split, and by id across splits. */
export interface ShopGoals {
  readonly splits: readonly string[];
  length(split: string): number;
  id(split: string, index: number): string;
  /** Undefined where there is no such goal. */
  find(id: string): Goal | undefined;
  /** What ids look like, for people. */
  readonly about: string;
}
