/**
 * @file Keeps products after they were made or read: all of a small shop, the latest of a large one.
 */
import { keepingRecent } from "../recent-cache.ts";
import type { Product } from "./product.ts";

/** Some 2 to 5 KB each. */
const KEPT = 20_000;

export function keptProducts(
  size: number,
  make: (index: number) => Product,
): (index: number) => Product {
  if (size > KEPT) {
    const recent = keepingRecent(
      (key: string) => key,
      KEPT,
      (key) => make(Number(key)),
    );
    return (index) => recent(String(index));
  }
  const products = new Array<Product | undefined>(size);
  return (index) => {
    products[index] ??= make(index);
    return products[index];
  };
}
