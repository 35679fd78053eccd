/**
 * @file One forward pass of the generation engine: the new tokens of many sequences at once, the
 * earlier ones from the cache.
 */
import {
  attentionOutput,
  feedForward,
  type Model,
  project,
  rotaryAngles,
} from "../models/index.ts";
import {
  arange,
  call,
  dispose,
  fromTypedArray,
  keep,
  noGrad,
  rmsNorm,
  type Tensor,
  tidy,
} from "../torch/index.ts";
import type { CachedSequence } from "./cache/sequence.ts";
import type { CacheStore } from "./cache/store.ts";

/** A sequence and how many of its tokens, after the computed ones, this pass computes. */
export interface Work {
  sequence: CachedSequence;
  tokens: number;
}

export interface RotaryTable {
  cos: Tensor;
  sin: Tensor;
  dispose(): void;
}

/** Angles of all positions, once. */
export function rotaryTable(model: Model): RotaryTable {
  const length = model.config.maximumPositions;
  const { cos, sin } = keep(
    tidy(() => ({ ...rotaryAngles(model.config, arange(0, length), length, model.device) })),
  );
  return { cos, sin, dispose: () => dispose([cos, sin]) };
}

/** The pass's arrays, as the native operator takes them. */
interface Layout {
  ids: Tensor;
  positions: Tensor;
  queryOffsets: Tensor;
  lengths: Tensor;
  pageOffsets: Tensor;
  pages: Tensor;
  /** The last new token of each sequence. */
  last: Tensor;
}

function layoutOf(work: readonly Work[]): Layout {
  const [ids, positions, queryOffsets, lengths, pageOffsets, pages, last]: bigint[][] = [
    [],
    [],
    [0n],
    [],
    [0n],
    [],
    [],
  ];
  for (const { sequence, tokens } of work) {
    const end = sequence.computed + tokens;
    for (let i = sequence.computed; i < end; i++) {
      ids!.push(BigInt(sequence.ids[i]!));
      positions!.push(BigInt(i));
    }
    queryOffsets!.push(BigInt(ids!.length));
    lengths!.push(BigInt(end));
    for (const page of sequence.pages) pages!.push(BigInt(page));
    pageOffsets!.push(BigInt(pages!.length));
    last!.push(BigInt(ids!.length - 1));
  }
  const upload = (values: bigint[] | undefined) => fromTypedArray(BigInt64Array.from(values!));
  return {
    ids: upload(ids),
    positions: upload(positions),
    queryOffsets: upload(queryOffsets),
    lengths: upload(lengths),
    pageOffsets: upload(pageOffsets),
    pages: upload(pages),
    last: upload(last),
  };
}

/**
 * Computes the new tokens of all sequences into the cache. Returns the logits after each sequence's
 * last new token, [sequences, vocabulary], of those that `wanted` names (indices into `work`).
 */
export function forwardStep(
  model: Model,
  cache: CacheStore,
  table: RotaryTable,
  work: readonly Work[],
  wanted: readonly number[],
): Tensor | null {
  const { config, parameters } = model;
  return noGrad(() =>
    tidy(() => {
      const layout = layoutOf(work);
      const angles = {
        cos: table.cos.indexSelect(0, layout.positions),
        sin: table.sin.indexSelect(0, layout.positions),
      };
      let x = parameters.get("model.embed_tokens.weight")!.embedding(layout.ids);
      for (let i = 0; i < config.layers; i++)
        x = tidy(() => cachedLayer(model, i, x, angles, cache, layout));
      for (const { sequence, tokens } of work) sequence.markComputed(sequence.computed + tokens);
      if (wanted.length === 0) return null;
      const places =
        wanted.length === work.length
          ? layout.last
          : layout.last.indexSelect(0, fromTypedArray(BigInt64Array.from(wanted, BigInt)));
      const hidden = rmsNorm(
        x.indexSelect(0, places),
        parameters.get("model.norm.weight")!,
        config.normEpsilon,
      );
      return hidden.linear(model.output);
    }),
  );
}

function cachedLayer(
  model: Model,
  index: number,
  x: Tensor,
  angles: { cos: Tensor; sin: Tensor },
  cache: CacheStore,
  layout: Layout,
): Tensor {
  const { config } = model;
  const { queries, keys, values } = project(model, index, x, angles);
  const seen = call("openmanus::cached_attention", [
    queries,
    keys,
    values,
    cache.keys[index]!,
    cache.values[index]!,
    layout.queryOffsets,
    layout.lengths,
    layout.pageOffsets,
    layout.pages,
    config.headDimension ** -0.5,
    config.slidingWindows[index] ?? -1,
  ]) as Tensor;
  const y = x.add(attentionOutput(model, index, seen));
  return y.add(feedForward(model, index, y));
}
