/**
 * @file What a sharded update sends, by the formula of docs/sharding.md, and the model that it is measured with.
 */
import { type ModelConfig, presetConfig, unitsOf } from "../src/models/index.ts";

/** 322 million weights. */
export const SHAPE: ModelConfig = {
  ...presetConfig("small", { family: "llama" }),
  ...{ vocabularySize: 32_000, hiddenSize: 1024, layers: 20, heads: 16, keyValueHeads: 16 },
  ...{ headDimension: 64, intermediateSize: 2816, maximumPositions: 2048 },
  ...{ tiedEmbeddings: false, slidingWindows: new Array<null>(20).fill(null) },
};

/**
 * Bytes that each of n ranks sends in one pass with its backward: every layer is gathered twice, but for the
 * last, which stays in between; the root once; gradients of all are reduced and scattered. Of each vector a
 * rank sends (n − 1) / n.
 */
export function bytesPerPass(
  config: ModelConfig,
  ranks: number,
  { fetched = 4, reduced = 4, reshard = true } = {},
): number {
  const [root, ...layers] = unitsOf(config).map(({ numel }) => numel) as [number, ...number[]];
  const all = layers.reduce((sum, numel) => sum + numel, 0);
  const gathered = root + (reshard ? 2 * all - layers.at(-1)! : all);
  return ((ranks - 1) / ranks) * (fetched * gathered + reduced * (root + all));
}
