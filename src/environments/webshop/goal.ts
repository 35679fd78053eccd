/**
 * @file What a shopper is asked to buy.
 */

export interface Goal {
  readonly asin: string;
  readonly category: string;
  readonly query: string;
  /** The title of the product that was meant. */
  readonly name: string;
  readonly productCategory: string;
  readonly instruction: string;
  readonly attributes: readonly string[];
  /** In dollars; 1 000 000 where there is no limit. */
  readonly priceUpper: number;
  readonly options: GoalOptions;
}

/**
 * Synthetic goals name the option with each value, human ones have values only. The original compares
 * the two in different ways (reward/options.ts).
 */
export type GoalOptions =
  | { readonly kind: "named"; readonly pairs: readonly (readonly [string, string])[] }
  | { readonly kind: "values"; readonly values: readonly string[] };

export const NO_LIMIT = 1_000_000;

export function optionCount(options: GoalOptions): number {
  return options.kind === "named" ? options.pairs.length : options.values.length;
}

/** What an instruction says of the price. */
export function priceText(priceUpper: number): string {
  return priceUpper >= NO_LIMIT ? "" : `, and price lower than ${priceUpper.toFixed(2)} dollars`;
}

/** The first four full tens above the price, up to 990: one of them is the limit. */
export function priceLimits(price: number): number[] {
  const first = Math.max(1, Math.floor(price / 10) + 1);
  return [0, 1, 2, 3].map((i) => 10 * (first + i)).filter((limit) => limit <= 990);
}
