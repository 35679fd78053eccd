/**
 * @file What a model in training takes in this process, to the byte: weights, gradients, moments. Activations,
 * and a unit while it is gathered, come on top.
 */
import { isSharded, type Model } from "../../models/index.ts";
import type { Tensor } from "../../torch/index.ts";
import type { TrainedModel } from "../workers/optimize.ts";

export interface StateBytes {
  readonly weights: number;
  readonly gradients: number;
  readonly moments: number;
  readonly total: number;
}

export function stateBytes({ model, state }: Pick<TrainedModel, "model" | "state">): StateBytes {
  const base = "base" in model ? (model.base as Model) : model;
  const weights = bytesOf((isSharded(base) ? base.shards : base.parameters).values());
  const gradients = bytesOf(model.trainable.values());
  const moments = bytesOf(state().tensors.values());
  return { weights, gradients, moments, total: weights + gradients + moments };
}

function bytesOf(tensors: Iterable<Tensor>): number {
  let sum = 0;
  for (const { byteLength } of tensors) sum += byteLength;
  return sum;
}
