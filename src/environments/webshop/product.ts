/**
 * @file A product, as the shop shows it.
 */

export interface Product {
  /** The shop's own number of it. */
  readonly asin: string;
  readonly title: string;
  readonly description: string;
  readonly bullets: readonly string[];
  /** Names and values in lower case, in the order of the page. */
  readonly options: readonly ProductOption[];
  /** One price in dollars, or the lowest and the highest. */
  readonly pricing: readonly [number] | readonly [number, number];
  /** What the page shows: "$9.99", "$9.99 to $12.0". */
  readonly priceTag: string;
  readonly attributes: readonly string[];
  readonly category: string;
  readonly query: string;
  /** Levels joined by " › ". */
  readonly productCategory: string;
  readonly image: string;
}

export interface ProductOption {
  readonly name: string;
  readonly values: readonly string[];
}

/** The products of a shop. Products are made or read when asked for: a shop may be larger than memory. */
export interface Catalogue {
  readonly size: number;
  product(index: number): Product;
  /** The index of a product by its number. */
  find(asin: string): number | undefined;
  /** The price at which a product counts as bought. */
  price(index: number): number;
  /** What is searched. */
  search(query: string, limit: number): readonly number[];
}

/** What the original's index holds of a product: title, description, first bullet and options. */
export function documentText({ title, description, bullets, options }: Product): string {
  const offered = options.map(({ name, values }) => `${name}: ${values.join(", ")}`);
  return [title, description, bullets[0] ?? "", offered.join(", and ")].join(" ").toLowerCase();
}
