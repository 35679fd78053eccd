/**
 * @file The built-in shop: nothing to download, any size.
 */

import { seededRandom, stableHash } from "../../random.ts";
import { keepingRecent } from "../../recent-cache.ts";
import { cacheFolder, fingerprint } from "../cache-folder.ts";
import type { Goal } from "../goal.ts";
import { keptProducts } from "../kept-products.ts";
import { type Catalogue, documentText } from "../product.ts";
import { indexBuilder } from "../search/inverted-index.ts";
import { keptIndex } from "../search/kept-index.ts";
import { searcher } from "../search/search.ts";
import type { Shop } from "../shop.ts";
import {
  asinOf,
  generatedGoal,
  generatedPrice,
  generatedProduct,
  indexOfAsin,
  splitOf,
} from "./generate.ts";

/** So many products tell whether a cached index was made from other words than ours. */
const SAMPLES = 100;
const KEPT_GOALS = 2000;
/** Of many shops, so many are kept: each takes some milliseconds to open. */
const KEPT_SHOPS = 64;
/** Goals of each of the splits valid and test, and of the one in shops of their own. */
const HELD_OUT = 500;
export const UNSEEN_SHOPS = "unseen_shops";

export interface GeneratedShopOptions {
  readonly products: number;
  /** How many goals the split train has. */
  readonly goals: number;
  /** In how many shops the goals are, each with products of its own under the same codes. Default 1. */
  readonly shops?: number;
  /** So many more shops, in which no goal of the other splits is: the split "unseen_shops". Default 0. */
  readonly unseenShops?: number;
  readonly seed: number;
  readonly cache: string | undefined;
}

export function generatedShop(options: GeneratedShopOptions): Shop {
  const { products, goals, seed, cache, shops = 1, unseenShops = 0 } = options;
  const catalogueOf = keepingRecent(
    (shop: number) => String(shop),
    KEPT_SHOPS,
    (shop: number) => generatedCatalogue(products, shopSeed(seed, shop), cache),
  );
  /** Goals of a split go round its shops. */
  const shopOf = (id: string): number => {
    const number = Number(id.slice(id.indexOf("/") + 1));
    return id.startsWith(UNSEEN_SHOPS) ? shops + (number % unseenShops) : number % shops;
  };
  const lengths: Readonly<Record<string, number>> = {
    ...{ train: goals, valid: HELD_OUT, test: HELD_OUT },
    ...(unseenShops > 0 && { [UNSEEN_SHOPS]: HELD_OUT }),
  };
  const make = (id: string): Goal => {
    const [split, number] = id.split("/");
    const random = seededRandom("webshop goal", seed, split!, Number(number));
    const catalogue = catalogueOf(shopOf(id));
    const index = drawProduct(random, catalogue.size, split!, shopSeed(seed, shopOf(id)));
    return generatedGoal(catalogue.product(index), catalogue.price(index), random);
  };
  const goal = keepingRecent((id: string) => id, KEPT_GOALS, make);
  return {
    catalogue: catalogueOf(0),
    catalogueOf: (id) => catalogueOf(shopOf(id)),
    goals: {
      splits: Object.keys(lengths),
      length: (split) => lengths[split]!,
      id: (split, index) => `${split}/${index}`,
      find(id) {
        const [, split, number] = /^([a-z_]+)\/(0|[1-9]\d{0,8})$/.exec(id) ?? [];
        if (split === undefined || !Object.hasOwn(lengths, split)) return undefined;
        return Number(number) < lengths[split]! ? goal(id) : undefined;
      },
      about: `train/0 to train/${goals - 1}, ${Object.keys(lengths)
        .slice(1)
        .map((split) => `${split}/0`)
        .join(", ")} to ${HELD_OUT - 1}`,
    },
    source: `${shops > 1 ? `${shops} shops of ` : ""}${products} built-in products, seed ${seed}${
      unseenShops > 0 ? `, and ${unseenShops} more for ${UNSEEN_SHOPS}` : ""
    }`,
  };
}

/** The first shop is that of the seed itself. */
function shopSeed(seed: number, shop: number): number {
  return shop === 0 ? seed : stableHash("webshop shop", seed, shop);
}

function generatedCatalogue(size: number, seed: number, cache: string | undefined): Catalogue {
  const product = keptProducts(size, (index) => generatedProduct(seed, index));
  const index = keptIndex(stampOf(size, seed), cacheFolder(cache, size), () => {
    const builder = indexBuilder();
    for (let i = 0; i < size; i++) builder.add(documentText(generatedProduct(seed, i)));
    return builder.finish();
  });
  const { search } = searcher(index);
  return {
    size,
    product,
    find(asin) {
      const place = indexOfAsin(asin);
      return place !== undefined && place < size && asinOf(place) === asin ? place : undefined;
    },
    price: (place) => generatedPrice(seed, place, product(place)),
    search: (query, count) => search(query, count).map(({ document }) => document),
  };
}

/** What the index is made from. Another version of the generator makes other products of the same seed. */
export function stampOf(size: number, seed: number): string {
  const samples = Array.from({ length: Math.min(SAMPLES, size) }, (_, i) =>
    documentText(generatedProduct(seed, Math.floor((i * size) / Math.min(SAMPLES, size)))),
  );
  return `${size} built-in products, seed ${seed}, ${fingerprint(samples)}`;
}

/** A product of the split; in shops of its own any. A tiny shop may have none: then any will do, too. */
function drawProduct(
  random: ReturnType<typeof seededRandom>,
  size: number,
  split: string,
  seed: number,
): number {
  let index = random.integer(size);
  if (split === UNSEEN_SHOPS) return index;
  for (let attempt = 0; attempt < 1000 && splitOf(seed, index) !== split; attempt++)
    index = random.integer(size);
  return index;
}
