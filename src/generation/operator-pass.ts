/**
 * @file A pass of the generation engine in single operators: for any dtype, adapter and device, and
 * the twin that tests compare the native pass with.
 */
import {
  attentionOutput,
  embedded,
  feedForward,
  type Model,
  normalised,
  project,
} from "../models/index.ts";
import { fromTypedArray, invoke, openmanus, type Tensor, tidy } from "../torch/index.ts";
import type { CacheStore } from "./cache/store.ts";
import { deviceLayout } from "./device/layout.ts";
import { rowsAttention } from "./device/rows-attention.ts";
import type { Layout } from "./layout.ts";
import type { RotaryTable } from "./step.ts";
import type { ModelParts, PartModel } from "./tensor-parallel.ts";

const cachedAttention = openmanus("cached_attention");

/** Logits [wanted, vocabulary]. */
export function operatorPass(
  model: Model,
  cache: CacheStore,
  table: RotaryTable,
  layout: Layout,
): Tensor {
  const { config, parameters } = model;
  const parts = partsOf(model);
  parts?.begin(layout);
  const { ids, positions, wanted, attend } = placed(model, layout, cache);
  const angles = {
    cos: table.cos.indexSelect(1, positions),
    sin: table.sin.indexSelect(1, positions),
  };
  let x = parts ? parts.embedded(ids) : embedded(model, ids);
  for (let i = 0; i < config.layers; i++) x = tidy(() => cachedLayer(model, i, x, angles, attend));
  const norm = parameters.get("model.norm.weight")!;
  const hidden = normalised(config, x.indexSelect(0, wanted), norm);
  return parts ? parts.logits(hidden) : hidden.linear(model.output);
}

/** What a pass needs, where the model is. */
interface Placed {
  readonly ids: Tensor;
  readonly positions: Tensor;
  readonly wanted: Tensor;
  readonly attend: Attend;
}

/** Puts keys and values of the new tokens into a layer's cache, and attends to what is there. */
type Attend = (
  layer: number,
  queries: Tensor,
  keys: Tensor,
  values: Tensor,
  how: { readonly scale: number; readonly window: number | null },
) => Tensor;

function placed({ device, config }: Model, layout: Layout, cache: CacheStore): Placed {
  if (device !== "cpu") {
    const there = deviceLayout(layout, config, device);
    return {
      ...there,
      attend: (layer, queries, keys, values, how) =>
        rowsAttention(queries, keys, values, cache.keys[layer]!, cache.values[layer]!, there, how),
    };
  }
  const where = [layout.queryOffsets, layout.lengths, layout.pageOffsets, layout.pages].map(
    (values) => fromTypedArray(values),
  );
  return {
    ids: fromTypedArray(layout.ids),
    positions: fromTypedArray(layout.positions),
    wanted: fromTypedArray(layout.wanted),
    attend: (layer, queries, keys, values, { scale, window }) =>
      invoke(
        cachedAttention,
        queries.handle,
        keys.handle,
        values.handle,
        cache.keys[layer]!.handle,
        cache.values[layer]!.handle,
        ...where.map(({ handle }) => handle),
        scale,
        window ?? -1,
      ),
  };
}

/** Of a model that is split over ranks. */
function partsOf(model: Model): ModelParts | undefined {
  return "parts" in model ? (model as PartModel).parts : undefined;
}

function cachedLayer(
  model: Model,
  index: number,
  x: Tensor,
  angles: { cos: Tensor; sin: Tensor },
  attend: Attend,
): Tensor {
  const { config } = model;
  const { queries, keys, values } = project(model, index, x, angles);
  const seen = attend(index, queries, keys, values, {
    scale: (config.attentionScalar ?? config.headDimension) ** -0.5,
    window: config.slidingWindows[index] ?? null,
  });
  const y = attentionOutput(model, index, x, seen);
  return feedForward(model, index, y);
}
