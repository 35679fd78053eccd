/**
 * @file The score of a purchase, 0 to 1:
 *
 *     factor · (attributes + options + price) / (wanted attributes + wanted options + 1)
 *
 * with how many of the wanted attributes and options match, 1 for a price within the limit, and the
 * factor of the kind of product (type.ts).
 */
import { type Goal, optionCount } from "../goal.ts";
import type { Product } from "../product.ts";
import { matchedOptions } from "./options.ts";
import { isAlike } from "./token-set-ratio.ts";
import { type NounFinder, type TypeReward, typeReward } from "./type.ts";

export interface Purchase {
  readonly product: Product;
  /** In dollars. */
  readonly price: number;
  /** The chosen value of each option, in the order of choosing. */
  readonly options: readonly (readonly [string, string])[];
}

export interface Reward {
  readonly score: number;
  readonly type: TypeReward;
  /** How many of the wanted attributes the product has. */
  readonly attributes: number;
  /** How many of the wanted options were chosen. */
  readonly options: number;
  readonly priceFits: boolean;
}

export function rewardOf(purchase: Purchase, goal: Goal, nouns: NounFinder): Reward {
  const { product, price } = purchase;
  const type = typeReward(product, goal, nouns);
  const attributes = matchedAttributes(product, goal.attributes);
  const chosen = purchase.options.map(([, value]) => value);
  const options = matchedOptions(goal.options, chosen);
  const priceFits = price <= goal.priceUpper;
  const wanted = goal.attributes.length + optionCount(goal.options) + 1;
  const share = (attributes + options + (priceFits ? 1 : 0)) / wanted;
  return { score: share * type.factor, type, attributes, options, priceFits };
}

/** An attribute is like one of the product's, or stands in its title, its bullets or its description. */
function matchedAttributes(product: Product, wanted: readonly string[]): number {
  const texts = [product.title, product.bullets.join(" "), product.description];
  const pages = texts.map((text) => text.toLowerCase());
  return wanted.filter(
    (attribute) =>
      product.attributes.some((own) => isAlike(own, attribute)) ||
      pages.some((page) => page.includes(attribute)),
  ).length;
}
