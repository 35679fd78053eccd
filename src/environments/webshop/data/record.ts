/**
 * @file A product from a record of items_shuffle.json, by the original's rules for loading.
 */

import { floatText, strip } from "../../python-text.ts";
import type { Product, ProductOption } from "../product.ts";
import { DataError } from "./json-array.ts";

/** What a product has that no attributes are known of. */
const NO_ATTRIBUTES = ["DUMMY_ATTR"];
/** The original's price of a product without one. */
const USUAL_PRICE = 100;

/** The product's number, or undefined where the original leaves the record out. */
export function asinOf(record: unknown): string | undefined {
  const asin = fieldsOf(record).asin;
  if (typeof asin !== "string") throw new DataError('a product has no "asin"');
  return asin === "nan" || [...asin].length > 10 || asin === "" ? undefined : asin;
}

export function productOf(record: unknown, attributes: readonly string[] | undefined): Product {
  const fields = fieldsOf(record);
  const text = (name: string): string => textOf(fields, name);
  const prices = pricesOf(text("pricing"));
  return {
    asin: text("asin"),
    title: text("name"),
    description: text("full_description"),
    bullets: bulletsOf(fields.small_description),
    options: optionsOf(fields.customization_options),
    pricing: prices,
    priceTag: prices.map((price) => `$${floatText(price)}`).join(" to "),
    attributes: attributes ?? NO_ATTRIBUTES,
    category: text("category"),
    query: strip(text("query").toLowerCase()),
    productCategory: text("product_category"),
    image: imageOf(fields.images),
  };
}

export type Fields = Readonly<Record<string, unknown>>;

export function fieldsOf(value: unknown): Fields {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Fields;
  throw new DataError(`${shown(value)} is no object`);
}

export function textOf(fields: Fields, name: string): string {
  const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
  if (typeof value === "string") return value;
  if (value === null || value === undefined) return "";
  throw new DataError(`"${name}" must be a text, not ${shown(value)}`);
}

export function textsOf(value: unknown, name: string): readonly string[] {
  if (value === null || value === undefined) return [];
  if (Array.isArray(value) && value.every((item) => typeof item === "string")) return value;
  throw new DataError(`"${name}" must be a list of texts, not ${shown(value)}`);
}

function bulletsOf(value: unknown): readonly string[] {
  if (value === null || value === undefined) return [""];
  return typeof value === "string" ? [value] : textsOf(value, "small_description");
}

/** "$15.99$32.99": every piece after a dollar sign, without what is no digit or dot; at most two. */
function pricesOf(pricing: string): Product["pricing"] {
  if (pricing === "") return [USUAL_PRICE];
  const pieces = pricing.split("$").slice(1, 3);
  const prices = pieces.map((piece) => {
    const digits = piece.replace(/[^\d.]/g, "");
    if (!/^(\d+\.?\d*|\.\d+)$/.test(digits))
      throw new DataError(
        `"pricing" is ${shown(pricing)}, not prices like "$9.99" or "$9.99$12.99"`,
      );
    return Number(digits);
  });
  const [low, high] = prices;
  if (low === undefined)
    throw new DataError(`"pricing" is ${shown(pricing)}, without a dollar sign`);
  return high === undefined ? [low] : [low, high];
}

function optionsOf(value: unknown): readonly ProductOption[] {
  if (value === "" || value === null || value === undefined) return [];
  const options = new Map<string, readonly string[]>();
  for (const [name, contents] of Object.entries(fieldsOf(value))) {
    if (contents === null) continue;
    if (!Array.isArray(contents))
      throw new DataError(`the option "${name}" must be a list, not ${shown(contents)}`);
    const values = contents.map((content) =>
      strip(textOf(fieldsOf(content), "value"))
        .replaceAll("/", " | ")
        .toLowerCase(),
    );
    options.set(name.toLowerCase(), values);
  }
  return [...options].map(([name, values]) => ({ name, values }));
}

function imageOf(value: unknown): string {
  const first: unknown = Array.isArray(value) ? value[0] : undefined;
  return typeof first === "string" ? first : "";
}

export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}
