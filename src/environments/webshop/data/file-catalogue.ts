/**
 * @file The products of items_shuffle.json.
 */
import { closeSync, fstatSync, openSync } from "node:fs";
import { basename } from "node:path";
import { EnvironmentError } from "../../environment.ts";
import { readWhole } from "../array-file.ts";
import { cacheFolder } from "../cache-folder.ts";
import { keptProducts } from "../kept-products.ts";
import type { Catalogue, Product } from "../product.ts";
import type { PythonRandom } from "../python-random.ts";
import { searcher } from "../search/search.ts";
import type { Annotations } from "./annotations.ts";
import { naming } from "./folder.ts";
import { parsed } from "./json-array.ts";
import { named, type ProductTable, tableAndIndex } from "./product-table.ts";
import { productOf } from "./record.ts";

/** About as large as one product's record: how many products to expect of a file. */
const USUAL_RECORD = 4500;
/** A file up to this many bytes is kept in memory, and its pages can be read after closing. */
const KEPT_FILE = 1 << 28;

export interface FileCatalogue extends Catalogue {
  readonly table: ProductTable;
  close(): void;
}

interface Wishes {
  /** Only so many records from the beginning of the file. */
  readonly limit: number;
  readonly annotations: Annotations;
  /** Draws the price of every product that has a range of prices, in order. */
  readonly random: PythonRandom;
  readonly cache: string | undefined;
}

export function openFileCatalogue(path: string, wishes: Wishes): FileCatalogue {
  return naming(path, () => {
    const file = openSync(path, "r");
    try {
      return catalogueOf(path, file, wishes);
    } catch (error) {
      closeSync(file);
      throw error;
    }
  });
}

function catalogueOf(path: string, file: number, wishes: Wishes): FileCatalogue {
  const { limit, annotations, random } = wishes;
  const { size, mtimeMs } = fstatSync(file);
  const cache = cacheFolder(wishes.cache, Math.min(limit, size / USUAL_RECORD));
  const stamp = `${basename(path)}, ${size} bytes, changed ${mtimeMs}`;
  const { table, index } = tableAndIndex({ file, stamp, limit, cache });
  const places = new Map(table.asins.map((asin, place) => [asin, place]));
  const prices = table.low.map((low, i) =>
    Number.isNaN(table.high[i]) ? low : random.uniform(low, table.high[i]!),
  );
  const { search } = searcher(index);
  const bytesAt = reader(path, file, size);
  const read = (place: number): Product => {
    const asin = table.asins[place]!;
    const offset = table.offsets[place]!;
    const bytes = bytesAt.read(offset, table.lengths[place]!);
    return naming(path, () =>
      named(asin, () => productOf(parsed(bytes, offset), annotations(asin)?.attributes)),
    );
  };
  return {
    table,
    size: table.asins.length,
    product: keptProducts(table.asins.length, read),
    find: (asin) => places.get(asin),
    price: (place) => prices[place]!,
    search: (query, count) => search(query, count).map(({ document }) => document),
    close: () => bytesAt.close(),
  };
}

/** Parts of the file: from memory, or from the open file while it is open. */
function reader(
  path: string,
  file: number,
  size: number,
): { read(offset: number, length: number): Uint8Array; close(): void } {
  if (size <= KEPT_FILE) {
    const whole = new Uint8Array(size);
    readWhole(file, whole, 0);
    closeSync(file);
    return { read: (offset, length) => whole.subarray(offset, offset + length), close: () => {} };
  }
  let open = true;
  return {
    read(offset, length) {
      if (!open)
        throw new EnvironmentError(
          "webshop",
          `the shop in ${path} was closed; read its pages before world.close().`,
        );
      const bytes = new Uint8Array(length);
      readWhole(file, bytes, offset);
      return bytes;
    },
    close() {
      if (open) closeSync(file);
      open = false;
    },
  };
}
