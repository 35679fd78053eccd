/**
 * @file The products and goals of the built-in shop. Each is a function of the seed and its number, so a
 * shop of any size takes no memory and looks the same in every process.
 */

import { floatText } from "../../python-text.ts";
import { type Random, seededRandom, stableHash } from "../../random.ts";
import { type Goal, NO_LIMIT, priceLimits, priceText } from "../goal.ts";
import type { Product } from "../product.ts";
import {
  AUDIENCES,
  BRAND_BEGINNINGS,
  BRAND_ENDS,
  COLOURS,
  KINDS,
  type Kind,
  STYLES,
  titled,
} from "./vocabulary.ts";

const RANGE_SHARE = 0.3;
/** Attributes of a product; so many of them stand in its title, and a goal asks for two or three. */
const ATTRIBUTES = 4;
const IN_TITLE = 2;
/** Attributes as titles have them. */
const TITLED: ReadonlyMap<string, string> = new Map(
  KINDS.flatMap(({ attributes }) => attributes.map((attribute) => [attribute, titled(attribute)])),
);

export function generatedProduct(seed: number, index: number): Product {
  const random = seededRandom("webshop product", seed, index);
  const kind = random.pick(KINDS);
  const brand = random.pick(BRAND_BEGINNINGS) + random.pick(BRAND_ENDS);
  const attributes = random.shuffled(kind.attributes).slice(0, ATTRIBUTES);
  const style = random.pick(STYLES);
  const audience = random.pick(AUDIENCES);
  const colours = some(random, COLOURS, 3, 6);
  const sizes = kind.option.values.filter(() => random.chance(0.6));
  const pricing = pricesOf(random, kind);
  const model = `${brand[0]}${random.integer(36).toString(36)}${index.toString(36)}`.toUpperCase();
  const features = attributes.slice(0, IN_TITLE).map((attribute) => TITLED.get(attribute)!);
  const rest = attributes.slice(IN_TITLE);
  return {
    asin: asinOf(index),
    title: `${brand} ${style} ${kind.title}, ${features.join(", ")}, Model ${model}`,
    description: `${brand} made these ${kind.name} for ${audience}. They come from the ${style} line of our ${kind.family.toLowerCase()} and are checked by hand before they leave the workshop.`,
    bullets: [
      `What else you get: ${rest.join(" and ")}.`,
      `Also in the box: a care card and ${attributes[0]} as promised in the name.`,
      `Designed for ${audience}.`,
    ],
    options: [
      { name: "color", values: colours },
      { name: kind.option.name, values: sizes.length > 0 ? sizes : kind.option.values.slice(0, 1) },
    ],
    pricing,
    priceTag: pricing.map((price) => `$${floatText(price)}`).join(" to "),
    attributes,
    category: kind.department.toLowerCase(),
    query: kind.name,
    productCategory: [kind.department, kind.family, kind.title].join(" › "),
    image: "",
  };
}

/** "S", then the number in base 36: ten characters. */
export function asinOf(index: number): string {
  return `S${index.toString(36).toUpperCase().padStart(9, "0")}`;
}

export function indexOfAsin(asin: string): number | undefined {
  if (!/^S[0-9A-Z]{9}$/.test(asin)) return undefined;
  return Number.parseInt(asin.slice(1), 36);
}

/** What a product with a range of prices costs. */
export function generatedPrice(seed: number, index: number, { pricing }: Product): number {
  const [low, high] = pricing;
  if (high === undefined) return low;
  return low + (high - low) * seededRandom("webshop price", seed, index).unit();
}

/** The split whose goals are about this product: one in ten each for validation and test. */
export function splitOf(seed: number, index: number): "train" | "valid" | "test" {
  const place = stableHash("webshop split", seed, index) % 10;
  return place === 0 ? "test" : place === 1 ? "valid" : "train";
}

/** A goal for a product: some of its attributes, a value of each option, and a price limit above its price. */
export function generatedGoal(product: Product, price: number, random: Random): Goal {
  const attributes = some(random, product.attributes, 2, 3);
  const pairs = product.options.map(({ name, values }) => [name, random.pick(values)] as const);
  const limits = priceLimits(price);
  const priceUpper = limits.length < 2 ? NO_LIMIT : random.pick(limits.slice(1));
  const chosen = pairs.map(([name, value]) => `${name}: ${value}`).join(", and ");
  const listed = attributes.join(", ");
  const request = random.pick([
    `I am looking for ${product.query} that offer ${listed}`,
    `Please get me ${product.query}, and they should have: ${listed}`,
    `Buy ${product.query} described as ${listed}`,
    `My old ones broke, so order new ${product.query} (${listed})`,
  ]);
  return {
    ...{ asin: product.asin, category: product.category, query: product.query },
    ...{ name: product.title, productCategory: product.productCategory },
    instruction: `${request} with ${chosen}${priceText(priceUpper)}`,
    ...{ attributes, priceUpper, options: { kind: "named", pairs } },
  };
}

function pricesOf(random: Random, { prices: [low, high] }: Kind): Product["pricing"] {
  // Most things of a kind are cheap ones.
  const draw = (): number => cents(low + (high - low) * random.unit() ** 2);
  const first = draw();
  if (!random.chance(RANGE_SHARE)) return [first];
  return [first, cents(first * (1.05 + random.unit() / 2))];
}

function cents(price: number): number {
  return Math.round(price * 100) / 100;
}

/** Some of the items, from `least` to `most`, in their order. */
function some<Item>(random: Random, items: readonly Item[], least: number, most: number): Item[] {
  const count = least + random.integer(most - least + 1);
  const chosen = new Set(random.shuffled(items).slice(0, count));
  return items.filter((item) => chosen.has(item));
}
