/**
 * @file A trained model's weights and moments for files, whole or in shards: what is written is the same, so
 * that any number of ranks goes on from what any other saved.
 */
import {
  type FetchVector,
  fillFrom,
  gatherVectors,
  isSharded,
  type LaterTensor,
  type LoraModel,
  laterTensor,
  openSafetensors,
  partSize,
  pieceRanges,
  piecesOf,
  type SaveModelOptions,
  type ShardedModel,
  saveModel,
  saveModelFolder,
  wholeTensors,
} from "../../models/index.ts";
import { type Tensor, tidy } from "../../torch/index.ts";
import type { TrainedModel } from "../workers/optimize.ts";

/** How a model's parts get into files: `write` runs where files are written, the others take part. */
export interface StateFiles {
  saveWeights(folder: string, options: SaveModelOptions): void;
  /** By `<kind>.<name of a tensor in memory>`. */
  moments(): Map<string, Tensor | LaterTensor>;
}

/** Runs `write` on rank 0, with everything it needs of the others' parts. */
export function withStateFiles(
  trained: Pick<TrainedModel, "model" | "state">,
  isFirst: boolean,
  write: (files: StateFiles) => void,
): void {
  const { model } = trained;
  if (!isSharded(model)) {
    if (!isFirst) return;
    const release = model.fetch?.();
    try {
      write({
        saveWeights: (folder, options) => saveModel(model, folder, options),
        moments: () => trained.state().tensors,
      });
    } finally {
      release?.();
    }
    return;
  }
  const { tensors } = trained.state();
  gatherVectors(model.group, new Map([...model.shards, ...tensors]), (fetch) =>
    write({
      saveWeights: (folder, options) => saveWhole(model, fetch, folder, options),
      moments: () => wholeMoments(model, tensors, fetch),
    }),
  );
}

function saveWhole(
  { config, unitList, shards }: ShardedModel,
  fetch: FetchVector,
  folder: string,
  options: SaveModelOptions,
  change?: (weights: ReadonlyMap<string, Tensor>) => void,
): void {
  const tensors = wholeTensors(config, unitList, fetch, shards, change);
  saveModelFolder(folder, { ...options, config, tensors });
}

/** Saves base and adapter as one; all ranks of a copy call it, the first writes. */
export function saveMerged(
  lora: LoraModel,
  base: ShardedModel,
  folder: string,
  options: SaveModelOptions,
): void {
  gatherVectors(base.group, base.shards, (fetch) =>
    saveWhole(base, fetch, folder, options, (weights) => lora.addTo(weights)),
  );
}

function wholeMoments(
  { unitList }: ShardedModel,
  parts: ReadonlyMap<string, Tensor>,
  fetch: FetchVector,
): Map<string, LaterTensor> {
  const later = new Map<string, LaterTensor>();
  for (const [vector, { dtype }] of parts)
    for (const unit of unitList) {
      const kind = kindOf(vector, unit.name);
      if (kind === undefined) continue;
      for (const { name, shape } of unit.pieces)
        later.set(
          `${kind}.${name}`,
          laterTensor(shape, dtype, () => tidy(() => piecesOf(unit, fetch(vector)).get(name)!)),
        );
    }
  return later;
}

/** `first_moment` of `first_moment.root`, where that is of this unit. */
function kindOf(vector: string, unit: string): string | undefined {
  return vector.endsWith(`.${unit}`) && /^[a-z_]+$/.test(vector.slice(0, -unit.length - 1))
    ? vector.slice(0, -unit.length - 1)
    : undefined;
}

/** Reads a rank's part of the moments in a file that `moments` was written to, into the optimiser's own. */
export function loadShardMoments(
  trained: Pick<TrainedModel, "state" | "load">,
  { unitList, group }: ShardedModel,
  file: string,
  step: number,
): void {
  const { tensors } = trained.state();
  const opened = openSafetensors(file);
  try {
    for (const [vector, part] of tensors)
      for (const unit of unitList) {
        const kind = kindOf(vector, unit.name);
        if (kind === undefined) continue;
        const length = partSize(unit, group.worldSize);
        fillFrom(part, pieceRanges(unit, group.rank * length, length), ({ name, from, count }) =>
          opened.loadRange(`${kind}.${name}`, from, count, { dtype: part.dtype }),
        );
      }
    trained.load({ step, tensors });
  } finally {
    opened.close();
  }
}
