/**
 * @file Models in shards over several processes: their layout, loading, passes and saving.
 */
export { type FetchVector, gatherVectors, laterTensor, piecesOf, wholeTensors } from "./gather.ts";
export {
  type FileRange,
  fileRanges,
  partSize,
  pieceRanges,
  ROOT_UNIT,
  type Unit,
  type UnitPiece,
  unitsOf,
} from "./layout.ts";
export {
  type AllocateShard,
  fillFrom,
  fillVector,
  inMemory,
  type LoadedShards,
  type LoadShardsOptions,
  loadShards,
  type ShardPlace,
} from "./load.ts";
export {
  isShardFolder,
  modelFromShards,
  openShardFiles,
  type ShardFiles,
  WEIGHTS,
  wholeFrom,
  writeShardFile,
} from "./shard-files.ts";
export { isSharded, type ShardedModel, shardedModel } from "./sharded-model.ts";
export { cannotSplit, type TensorSlices, tensorSlices } from "./tensor-slices.ts";
export type { ShardedUnits, UnitOptions } from "./units.ts";
