/**
 * @file A trained model's shards in files of each rank's own, weights and moments together: nothing is gathered.
 */
import {
  fillVector,
  isSharded,
  openShardFiles,
  partSize,
  type ShardedModel,
  type ShardFiles,
  WEIGHTS,
  wholeFrom,
  writeShardFile,
} from "../../models/index.ts";
import { dispose, type Tensor } from "../../torch/index.ts";
import type { TrainedModel } from "../workers/optimize.ts";

/** All ranks of a copy; only the first knows the folder, which all must see. Throws where one could not. */
export function saveOwnShards(
  trained: Pick<TrainedModel, "model" | "state">,
  folder: string,
): void {
  const { model } = trained;
  if (!isSharded(model)) throw new Error("saveOwnShards: the model is whole");
  const { group, shards, config } = model;
  const place = group.broadcastObject(folder);
  const weights = [...shards].map(([unit, shard]) => [`${WEIGHTS}.${unit}`, shard] as const);
  const vectors = new Map<string, Tensor>([...weights, ...trained.state().tensors]);
  let problem: string | undefined;
  try {
    writeShardFile(place, { index: group.rank, count: group.worldSize }, config, vectors);
  } catch (error) {
    problem = `rank ${group.rank}: ${(error as Error).message}`;
  }
  const found = group.allGatherObject(problem).find((one) => one !== undefined);
  if (found !== undefined) throw new Error(found);
}

/** The moments in such files, into a trained model that is whole or in shards of another number. */
export function loadOwnShards(
  trained: Pick<TrainedModel, "model" | "state" | "load">,
  folder: string,
  step: number,
): void {
  const files = openShardFiles(folder);
  try {
    const { model } = trained;
    if (isSharded(model)) loadParts(trained, model, files, step);
    else loadWhole(trained, files, step);
  } finally {
    files.close();
  }
}

function loadParts(
  trained: Pick<TrainedModel, "state" | "load">,
  { group, unitList }: ShardedModel,
  files: ShardFiles,
  step: number,
): void {
  const { tensors } = trained.state();
  for (const kind of files.kinds)
    for (const unit of unitList) {
      const vector = `${kind}.${unit.name}`;
      const part = tensors.get(vector)!;
      fillVector(part, unit, group.rank * partSize(unit, group.worldSize), (start, count) =>
        files.read(vector, start, count, part.dtype),
      );
    }
  trained.load({ step, tensors });
}

function loadWhole(trained: Pick<TrainedModel, "load">, files: ShardFiles, step: number): void {
  const tensors = new Map<string, Tensor>();
  for (const kind of files.kinds)
    for (const [name, tensor] of wholeFrom(files, kind, "float32"))
      tensors.set(`${kind}.${name}`, tensor);
  trained.load({ step, tensors });
  dispose(tensors);
}
