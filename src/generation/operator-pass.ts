/**
 * @file A pass of the generation engine in single operators: for any dtype, adapter and device, and
 * the twin that tests compare the native pass with.
 */
import { attentionOutput, feedForward, type Model, project } from "../models/index.ts";
import { fromTypedArray, invoke, openmanus, rmsNorm, type Tensor, tidy } from "../torch/index.ts";
import type { CacheStore } from "./cache/store.ts";
import type { Layout } from "./layout.ts";
import type { RotaryTable } from "./step.ts";

const cachedAttention = openmanus("cached_attention");

/** Logits [wanted, vocabulary]. */
export function operatorPass(
  model: Model,
  cache: CacheStore,
  table: RotaryTable,
  layout: Layout,
): Tensor {
  const { config, parameters } = model;
  const positions = fromTypedArray(layout.positions);
  const angles = {
    cos: table.cos.indexSelect(0, positions),
    sin: table.sin.indexSelect(0, positions),
  };
  const where = [layout.queryOffsets, layout.lengths, layout.pageOffsets, layout.pages].map(
    (values) => fromTypedArray(values),
  );
  let x = parameters.get("model.embed_tokens.weight")!.embedding(fromTypedArray(layout.ids));
  for (let i = 0; i < config.layers; i++)
    x = tidy(() => cachedLayer(model, i, x, angles, cache, where));
  const places = fromTypedArray(layout.wanted.map((sequence) => layout.last[sequence]!));
  const norm = parameters.get("model.norm.weight")!;
  return rmsNorm(x.indexSelect(0, places), norm, config.normEpsilon).linear(model.output);
}

function cachedLayer(
  model: Model,
  index: number,
  x: Tensor,
  angles: { cos: Tensor; sin: Tensor },
  cache: CacheStore,
  where: readonly Tensor[],
): Tensor {
  const { config } = model;
  const { queries, keys, values } = project(model, index, x, angles);
  const seen = invoke(
    cachedAttention,
    queries.handle,
    keys.handle,
    values.handle,
    cache.keys[index]!.handle,
    cache.values[index]!.handle,
    ...where.map(({ handle }) => handle),
    config.headDimension ** -0.5,
    config.slidingWindows[index] ?? -1,
  );
  const y = attentionOutput(model, index, x, seen);
  return feedForward(model, index, y);
}
