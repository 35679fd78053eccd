/**
 * @file What is kept of every product of a file: where it is, its prices and how many ways there are to
 * choose its options. The products themselves are read when they are needed.
 */

import { readArrayFile, textBytes, textLines, writeArrayFile } from "../array-file.ts";
import { cacheFile } from "../cache-folder.ts";
import { documentText, type Product } from "../product.ts";
import { type InvertedIndex, indexBuilder } from "../search/inverted-index.ts";
import { ignoringFailure, keptIndex } from "../search/kept-index.ts";
import { DataError, eachObject } from "./json-array.ts";
import { asinOf, productOf } from "./record.ts";

export interface ProductTable {
  readonly asins: readonly string[];
  /** [products]: place in the file, in bytes. */
  readonly offsets: Float64Array;
  readonly lengths: Uint32Array;
  /** [products]: the lowest price and the highest in dollars; NaN where there is one price. */
  readonly low: Float64Array;
  readonly high: Float64Array;
  /** [products]: the number of combinations of its options' values; 1 without options. */
  readonly combinations: Float64Array;
}

interface Source {
  /** An open file. */
  readonly file: number;
  /** What is in it, so that nothing stale is taken from the cache. */
  readonly stamp: string;
  /** Only so many records from the beginning. */
  readonly limit: number;
  readonly cache: string | undefined;
}

/** The table and the index of a file. Both from the cache, or both made in one go through the file. */
export function tableAndIndex(source: Source): { table: ProductTable; index: InvertedIndex } {
  const { stamp, limit, cache } = source;
  const name = `table 1; ${stamp}; first ${limit}`;
  const file = cache === undefined ? undefined : cacheFile(cache, "table", name);
  const kept = file === undefined ? undefined : readTable(file, name);
  let made: ProductTable | undefined;
  const index = keptIndex(`${stamp}; first ${limit}`, cache, () => {
    const both = goThrough(source);
    made = both.table;
    return both.index;
  });
  if (kept?.asins.length === index.documents) return { table: kept, index };
  const table = made ?? goThrough(source).table;
  if (file !== undefined) ignoringFailure(() => writeTable(file, name, table));
  return { table, index };
}

function goThrough({ file, limit }: Source): { table: ProductTable; index: InvertedIndex } {
  const builder = indexBuilder();
  const asins = new Set<string>();
  const columns = { offsets: [], lengths: [], low: [], high: [], combinations: [] } as Record<
    Exclude<keyof ProductTable, "asins">,
    number[]
  >;
  let records = 0;
  eachObject(file, (record, { offset, length }) => {
    if (records++ >= limit) return false;
    const asin = asinOf(record);
    if (asin === undefined || asins.has(asin)) return true;
    const product = named(asin, () => productOf(record, undefined));
    asins.add(asin);
    columns.offsets.push(offset);
    columns.lengths.push(length);
    columns.low.push(product.pricing[0]);
    columns.high.push(product.pricing[1] ?? Number.NaN);
    columns.combinations.push(combinationsOf(product));
    builder.add(documentText(product));
    return true;
  });
  const table = {
    asins: [...asins],
    offsets: Float64Array.from(columns.offsets),
    lengths: Uint32Array.from(columns.lengths),
    low: Float64Array.from(columns.low),
    high: Float64Array.from(columns.high),
    combinations: Float64Array.from(columns.combinations),
  };
  return { table, index: builder.finish() };
}

function combinationsOf({ options }: Product): number {
  return options.reduce((count, { values }) => count * values.length, 1);
}

/** A DataError in `read` gets the product's number. */
export function named<Result>(asin: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    throw new DataError(`the product ${asin}: ${error.message}`, { cause: error });
  }
}

function writeTable(path: string, source: string, { asins, ...arrays }: ProductTable): void {
  writeArrayFile(path, source, { facts: {}, arrays: { asins: textBytes(asins), ...arrays } });
}

function readTable(path: string, source: string): ProductTable | undefined {
  const file = readArrayFile(path, source);
  if (!file) return undefined;
  const { asins, ...arrays } = file.arrays;
  return {
    ...(arrays as unknown as Omit<ProductTable, "asins">),
    asins: textLines(asins as Uint8Array),
  };
}
