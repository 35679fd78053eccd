/**
 * @file The memory of the cache: keys and values of every layer, in pages.
 */

import type { ModelConfig } from "../../models/index.ts";
import { type Device, type Dtype, dispose, empty, keep, type Tensor } from "../../torch/index.ts";

/** Tokens per page; a multiple of every machine's vector length. */
export const PAGE_SIZE = 16;
/** The last dimension of values is rounded up to this, for vectors of any length. */
const VALUE_MULTIPLE = 16;

export interface CacheStore {
  readonly pages: number;
  /** Per layer: [pages, keyValueHeads, headDimension, PAGE_SIZE]; not on the CPU, as the values. */
  readonly keys: readonly Tensor[];
  /**
   * Per layer: [pages, keyValueHeads, PAGE_SIZE, value width]; not on the CPU [pages · PAGE_SIZE, keyValueHeads,
   * headDimension], a row for each token, as libtorch's operators gather them.
   */
  readonly values: readonly Tensor[];
  dispose(): void;
}

/** Where a cache lies. On the CPU it is float32, elsewhere of the model's dtype: what is in it has that one. */
export interface CachePlace {
  readonly device: Device;
  readonly dtype: Dtype;
}

function valueWidth(config: ModelConfig): number {
  return Math.ceil(config.headDimension / VALUE_MULTIPLE) * VALUE_MULTIPLE;
}

/** Bytes that one page takes over all layers. */
export function bytesPerPage(config: ModelConfig, place?: CachePlace): number {
  const { layers, keyValueHeads, headDimension } = config;
  if (place && place.device !== "cpu") {
    const bytes = place.dtype === "float64" ? 8 : place.dtype === "float32" ? 4 : 2;
    return bytes * PAGE_SIZE * layers * keyValueHeads * headDimension * 2;
  }
  return 4 * PAGE_SIZE * layers * keyValueHeads * (headDimension + valueWidth(config));
}

/**
 * Memory for so many pages. Not cleared: what was never written is never read, and what is never used
 * of a large cache never becomes real memory.
 */
export function newCacheStore(config: ModelConfig, pages: number, place?: CachePlace): CacheStore {
  const { layers, keyValueHeads, headDimension } = config;
  if (place && place.device !== "cpu") {
    const rows = () =>
      Array.from({ length: layers }, () =>
        keep(empty([pages * PAGE_SIZE, keyValueHeads, headDimension], place)),
      );
    const [keys, values] = [rows(), rows()];
    return { pages, keys, values, dispose: () => dispose([...keys, ...values]) };
  }
  const perLayer = (shape: number[]) => Array.from({ length: layers }, () => keep(empty(shape)));
  const keys = perLayer([pages, keyValueHeads, headDimension, PAGE_SIZE]);
  const values = perLayer([pages, keyValueHeads, PAGE_SIZE, valueWidth(config)]);
  return { pages, keys, values, dispose: () => dispose([...keys, ...values]) };
}
