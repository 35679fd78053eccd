/**
 * @file Tensor parallelism: which part of each matrix one of several ranks has, so that a layer needs only two
 * sums over the ranks.
 *
 *   qkv, gate and up   rows: some of the heads, some of the feed-forward columns
 *   o, down            columns: what those give to; each rank's product is a term of the whole
 *   embeddings, output rows: some of the vocabulary
 *   norms              whole
 */
import {
  cat,
  type Dtype,
  empty,
  keep,
  noGrad,
  type Tensor,
  tidy,
  zeros,
} from "../../torch/index.ts";
import type { ModelConfig } from "../config/model-config.ts";
import { layoutOf } from "../decoder/layout.ts";
import type { ShardPlace } from "./load.ts";

export interface TensorSlices {
  /** As a rank's own layers see it: fewer heads and columns. The vocabulary is the whole one. */
  readonly config: ModelConfig;
  /** Words of the vocabulary that a rank has; the last one's are filled up with zeros. */
  readonly words: number;
  /** Empty tensors of the rank's sizes, kept, by the names that they have in memory. */
  allocate(dtype: Dtype): Map<string, Tensor>;
  /** A rank's part of a whole tensor. */
  sliceOf(name: string, whole: Tensor): Tensor;
}

/** What keeps a model from being split over so many ranks, in words; undefined: nothing. */
export function cannotSplit(config: ModelConfig, ranks: number): string | undefined {
  const sizes = [
    ["attention heads", config.heads],
    ["key-value heads", config.keyValueHeads],
    ["feed-forward columns", config.intermediateSize],
  ] as const;
  const odd = sizes.find(([, size]) => size % ranks !== 0);
  return odd && `the model has ${odd[1]} ${odd[0]}, which cannot be shared among ${ranks} ranks`;
}

export function tensorSlices(whole: ModelConfig, { index, count }: ShardPlace): TensorSlices {
  const problem = cannotSplit(whole, count);
  if (problem) throw new RangeError(problem);
  const config: ModelConfig = {
    ...whole,
    heads: whole.heads / count,
    keyValueHeads: whole.keyValueHeads / count,
    intermediateSize: whole.intermediateSize / count,
  };
  const words = Math.ceil(whole.vocabularySize / count);
  const isVocabulary = (name: string) => /^(model\.embed_tokens|lm_head)\./.test(name);

  /** The rank's share of rows or columns [start, start + size). */
  const share = (tensor: Tensor, dimension: number, start: number, size: number): Tensor =>
    tensor.narrow(dimension, start + (index * size) / count, size / count);

  /** Rows that are several matrices' behind each other: a share of each. */
  const shares = (tensor: Tensor, sizes: readonly number[]): Tensor => {
    let start = 0;
    const parts = sizes.map((size) => {
      start += size;
      return share(tensor, 0, start - size, size);
    });
    return cat(parts, 0);
  };

  const { headDimension: width, heads, keyValueHeads, intermediateSize } = whole;
  const sliceOf = (name: string, tensor: Tensor): Tensor =>
    tidy(() => {
      if (isVocabulary(name)) {
        const first = Math.min(index * words, whole.vocabularySize);
        const own = tensor.narrow(0, first, Math.min(words, whole.vocabularySize - first));
        const missing = words - own.size(0);
        if (missing === 0) return own;
        return cat([own, zeros([missing, own.size(1)], { dtype: tensor.dtype })], 0);
      }
      if (/\.qkv_proj\./.test(name))
        return shares(tensor, [heads * width, keyValueHeads * width, keyValueHeads * width]);
      if (/\.gate_up_proj\./.test(name))
        return shares(tensor, [intermediateSize, intermediateSize]);
      if (/\.o_proj\.weight$/.test(name)) return share(tensor, 1, 0, heads * width);
      if (/\.down_proj\.weight$/.test(name)) return share(tensor, 1, 0, intermediateSize);
      // Added once, by the first: the others' terms come without.
      if (/\.(o|down)_proj\.bias$/.test(name)) return index === 0 ? tensor : tensor.mul(0);
      return tensor;
    });

  return {
    config,
    words,
    allocate: (dtype) =>
      new Map(
        layoutOf(config).map(({ name, shape }) => {
          const own = isVocabulary(name) ? [words, shape[1]!] : shape;
          return [name, noGrad(() => keep(empty(own, { dtype })))] as const;
        }),
      ),
    sliceOf,
  };
}
