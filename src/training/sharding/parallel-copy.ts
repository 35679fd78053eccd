/**
 * @file The weights that a policy generates with, split over a few ranks (tensor parallel), for models of which
 * a machine cannot hold a whole copy. They are taken over unit by unit: nobody ever has all.
 */
import { OptionError } from "../../assembly/index.ts";
import { type TensorParallel, tensorParallel } from "../../generation/index.ts";
import {
  cannotSplit,
  isSharded,
  type LoraModel,
  type Model,
  piecesOf,
  separate,
  weightDtype,
} from "../../models/index.ts";
import { noGrad, tidy } from "../../torch/index.ts";
import type { RolloutOptions, TrainingOptions } from "../options.ts";
import type { Ranks } from "../ranks/ranks.ts";

export interface ParallelCopy {
  readonly parallel: TensorParallel;
  /** Takes over the weights as they are. All ranks. */
  publish(): void;
  dispose(): void;
}

/** `base`: the policy's weights, in shards or whole. */
export function parallelCopy(
  base: Model,
  lora: LoraModel | undefined,
  ranks: Ranks,
  rollout: RolloutOptions,
): ParallelCopy {
  const size = rollout.tensorParallel;
  requirePossible(base, lora, ranks, rollout);
  const first = Math.floor(ranks.rank / size) * size;
  const group = ranks.subgroup(Array.from({ length: size }, (_, i) => first + i));
  const parallel = tensorParallel(base.config, weightDtype(base), group);

  const publish = (): void => {
    if (!isSharded(base)) {
      for (const [name, tensor] of base.parameters) parallel.load(name, tensor.detach());
      return;
    }
    for (const unit of base.unitList)
      tidy(() => {
        const shard = base.shards.get(unit.name)!.detach().to(base.units.dtype);
        const pieces = piecesOf(unit, base.group.allGather(shard).view([-1]));
        if (lora) lora.addTo(separate(base.config, pieces));
        for (const [name, tensor] of pieces) parallel.load(name, tensor);
      });
  };
  return {
    parallel,
    publish: () => noGrad(publish),
    dispose() {
      parallel.dispose();
      group.destroy();
    },
  };
}

/** Each rank's cache has room for its heads only: together they have what one would have. */
export function splitPlay(
  play: TrainingOptions["play"],
  { newCache }: TensorParallel,
  { tensorParallel: ranks }: TrainingOptions["rollout"],
): TrainingOptions["play"] {
  const { engine } = play;
  return { ...play, engine: { ...engine, cacheBytes: engine.cacheBytes / ranks, newCache } };
}

function requirePossible(
  base: Model,
  lora: LoraModel | undefined,
  ranks: Ranks,
  { tensorParallel: size, tasks, filter }: RolloutOptions,
): void {
  const problem =
    ranks.size % size !== 0
      ? `there are ${ranks.size} ranks, which are no groups of ${size}`
      : (cannotSplit(base.config, size) ??
        (lora && !isSharded(base)
          ? "an adapter is merged into sharded weights only (strategy=fsdp)"
          : filter
            ? "with dynamic sampling (filter_groups) ranks generate at different times"
            : tasks < ranks.size
              ? `every rank needs a task of its own, and there are ${tasks} for ${ranks.size} ranks`
              : undefined));
  if (problem) throw new OptionError(`tensor_model_parallel_size is ${size}: ${problem}.`);
}
