/**
 * @file How the gradients of all ranks become one, and how long that is: over whole gradients, or over shards.
 */
import { isSharded, type Model } from "../../models/index.ts";
import {
  fromTypedArray,
  gradientNorm,
  type ProcessGroup,
  type Tensor,
  tidy,
  zeros,
} from "../../torch/index.ts";
import type { Ranks } from "../ranks/ranks.ts";
import type { ShardGroups } from "./groups.ts";

export interface GradientExchange {
  /** Adds up what the ranks computed, after the last pass of a mini-batch. */
  sum(): void;
  /** The norm of all gradients as one vector: the same number on all ranks. */
  norm(): number;
}

export function gradientExchange(
  model: Model,
  ranks: Ranks,
  groups: ShardGroups | undefined,
): GradientExchange {
  if (groups && isSharded(model)) return betweenShards([...model.shards.values()], groups);
  return {
    sum: () => ranks.sumGradients(model.trainable),
    norm: () => gradientNorm(model.trainable),
  };
}

/** Passes have summed gradients over the ranks of a copy already, each into its part. */
function betweenShards(
  shards: readonly Tensor[],
  { shard: group, replicas }: ShardGroups,
): GradientExchange {
  return {
    sum: () =>
      tidy(() => {
        for (const shard of shards) {
          // A copy whose ranks had no rows in this mini-batch takes part all the same.
          shard.grad ??= zeros(shard.shape, { dtype: shard.dtype });
          replicas?.allReduce(shard.grad.detach(), "sum");
        }
      }),
    norm: () => Math.sqrt(sumOver(group, shards.map(sumOfSquares))),
  };
}

/** Numbers that are widened at once: 8 MB. */
const PORTION = 2 ** 20;

/** In float64: a sum of squares of millions of float32 numbers loses its last digits otherwise. */
function sumOfSquares({ grad }: Tensor): number {
  if (grad === null) return 0;
  let sum = 0;
  for (let start = 0; start < grad.numel; start += PORTION)
    sum += tidy(() =>
      grad
        .detach()
        .narrow(0, start, Math.min(PORTION, grad.numel - start))
        .to("float64")
        .square()
        .sum()
        .item(),
    );
  return sum;
}

function sumOver(group: ProcessGroup, values: readonly number[]): number {
  const own = values.reduce((sum, value) => sum + value, 0);
  return tidy(() => group.allReduce(fromTypedArray(Float64Array.of(own)), "sum").item());
}
