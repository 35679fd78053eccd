/**
 * @file The losses of an update written down plainly, one sequence at a time, with all logits in memory:
 * what actor and critic must agree with, however they pack, cut and fuse.
 */
import { logits, type Model, packSequences, values } from "../../../src/models/index.ts";
import type { Batch } from "../../../src/rollout/index.ts";
import { stack, type Tensor, tensor, where, zeros } from "../../../src/torch/index.ts";

/** The trained tokens of a row: their places in the batch. */
export function trainedPlaces({ rows }: Batch, row: number): number[] {
  const places: number[] = [];
  for (let token = rows.offsets[row]!; token < rows.offsets[row + 1]!; token++)
    if (rows.mask[token] === 1) places.push(token);
  return places;
}

export function rowCount({ rows }: Batch): number {
  return rows.offsets.length - 1;
}

export interface PlainRow {
  readonly places: number[];
  /** [trained] with gradients. */
  readonly logprobs: Tensor;
  /** [trained] with gradients. */
  readonly entropies: Tensor;
}

/** The logarithm of softmax(logits / temperature) at the trained tokens of a row, and its entropy. */
export function plainRow(model: Model, batch: Batch, row: number, temperature = 1): PlainRow {
  const [start, end] = [batch.rows.offsets[row]!, batch.rows.offsets[row + 1]!];
  const places = trainedPlaces(batch, row);
  const all = logits(model, packSequences([batch.ids.subarray(start, end)]))
    .div(temperature)
    .logSoftmax(-1);
  const rows = places.map((place) => all.select(0, place - start - 1));
  return {
    places,
    logprobs: stack(rows.map((one, i) => one.select(0, batch.ids[places[i]!]!))),
    entropies: stack(rows.map((one) => one.exp().mul(one).sum().neg())),
  };
}

export interface PlainInputs {
  readonly advantages: ArrayLike<number>;
  readonly oldLogprobs: ArrayLike<number>;
  readonly referenceLogprobs?: ArrayLike<number>;
  readonly temperature?: number;
  readonly entropyWeight?: number;
  readonly klWeight?: number;
}

/** PPO's loss with both clips, token-mean over the given rows; entropy and k3 besides. */
export function plainActorLoss(
  model: Model,
  batch: Batch,
  members: readonly number[],
  inputs: PlainInputs,
): Tensor {
  const { temperature = 1, entropyWeight = 0, klWeight = 0 } = inputs;
  const total = members.reduce((sum, row) => sum + trainedPlaces(batch, row).length, 0);
  let loss = zeros([]);
  for (const row of members) {
    const { places, logprobs, entropies } = plainRow(model, batch, row, temperature);
    const at = (all: ArrayLike<number>) => tensor(places.map((place) => all[place]!));
    const advantages = at(inputs.advantages);
    const ratio = logprobs.sub(at(inputs.oldLogprobs)).exp();
    const first = ratio.mul(advantages).neg();
    const second = ratio.clamp(0.8, 1.2).mul(advantages).neg();
    const clipped = where(second.gt(first), second, first);
    const bound = advantages.mul(-3);
    const lower = where(bound.lt(clipped), bound, clipped);
    loss = loss.add(where(advantages.lt(0), lower, clipped).sum());
    loss = loss.add(entropies.sum(), -entropyWeight);
    if (inputs.referenceLogprobs) {
      const d = at(inputs.referenceLogprobs).sub(logprobs);
      loss = loss.add(d.exp().sub(d).sub(1).sum(), klWeight);
    }
  }
  return loss.div(total);
}

/** Half the squared error, the larger one of clipped and not, token-mean over the given rows. */
export function plainCriticLoss(
  model: Model,
  batch: Batch,
  members: readonly number[],
  inputs: { returns: ArrayLike<number>; oldValues: ArrayLike<number>; range: number },
): Tensor {
  const total = members.reduce((sum, row) => sum + trainedPlaces(batch, row).length, 0);
  let loss = zeros([]);
  for (const row of members) {
    const [start, end] = [batch.rows.offsets[row]!, batch.rows.offsets[row + 1]!];
    const all = values(model, packSequences([batch.ids.subarray(start, end)]));
    for (const place of trainedPlaces(batch, row)) {
      const value = all.select(0, place - start - 1);
      const [target, old] = [inputs.returns[place]!, inputs.oldValues[place]!];
      const plain = value.sub(target).square();
      const clipped = value
        .clamp(old - inputs.range, old + inputs.range)
        .sub(target)
        .square();
      loss = loss.add(where(clipped.gt(plain), clipped, plain), 0.5);
    }
  }
  return loss.div(total);
}
