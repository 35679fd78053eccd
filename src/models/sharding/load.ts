/**
 * @file A rank's part of a model from files: only its numbers are read.
 */
import { type Dtype, keep, noGrad, type Tensor, tidy, zeros } from "../../torch/index.ts";
import { ModelFileError } from "../checkpoint/errors.ts";
import { verifyCheckpoint } from "../checkpoint/verify.ts";
import type { ModelConfig } from "../config/model-config.ts";
import { readModelConfig } from "../config/parse.ts";
import { valueModelConfig } from "../config/presets.ts";
import { type Checkpoint, openCheckpoint } from "../safetensors/checkpoint.ts";
import { type FileRange, fileRanges, partSize, type Unit, unitsOf } from "./layout.ts";
import { isShardFolder, openShardFiles, WEIGHTS } from "./shard-files.ts";

/** Makes a tensor of zeros, kept. */
export type AllocateShard = (shape: readonly number[], dtype: Dtype) => Tensor;

export interface ShardPlace {
  /** Which of so many parts. */
  readonly index: number;
  readonly count: number;
}

export interface LoadShardsOptions extends ShardPlace {
  readonly dtype: Dtype;
  /** Where shards lie. Default: in memory. */
  readonly allocate?: AllocateShard | undefined;
  /** As a value model: from a policy's folder with a head of zeros. */
  readonly asValueModel?: boolean;
}

export interface LoadedShards {
  readonly config: ModelConfig;
  /** [part] by unit. */
  readonly shards: Map<string, Tensor>;
}

export function inMemory(shape: readonly number[], dtype: Dtype): Tensor {
  return keep(zeros(shape, { dtype }));
}

/** A rank's shards of a model folder. Weights that are not exactly those of its config.json are refused. */
export function loadShards(folder: string, options: LoadShardsOptions): LoadedShards {
  if (isShardFolder(folder)) return fromShardFiles(folder, options);
  const own = readModelConfig(folder);
  const newHead = options.asValueModel === true && own.head !== "token-classification";
  const config = newHead ? valueModelConfig(own) : own;
  const checkpoint = openCheckpoint(folder);
  try {
    verifyCheckpoint(checkpoint, config, { newHead });
    const reads = (name: string) => !(newHead && name.startsWith("score."));
    const shards = new Map<string, Tensor>();
    for (const unit of unitsOf(config))
      shards.set(unit.name, shardOf(unit, checkpoint, reads, options));
    return { config, shards };
  } finally {
    checkpoint.close();
  }
}

/** From what other ranks saved as they had it. */
function fromShardFiles(
  folder: string,
  { index, count, dtype, allocate = inMemory }: LoadShardsOptions,
): LoadedShards {
  const files = openShardFiles(folder);
  try {
    const shards = new Map<string, Tensor>();
    for (const unit of unitsOf(files.config)) {
      const length = partSize(unit, count);
      const shard = allocate([length], dtype);
      fillVector(shard, unit, index * length, (start, own) =>
        files.read(`${WEIGHTS}.${unit.name}`, start, own, dtype),
      );
      shards.set(unit.name, shard);
    }
    return { config: files.config, shards };
  } finally {
    files.close();
  }
}

/** Fills a shard that begins at `start` of its unit's vector; what is behind the vector's end stays 0. */
export function fillVector(
  shard: Tensor,
  { numel }: Unit,
  start: number,
  read: (start: number, count: number) => Tensor,
): void {
  const own = Math.min(shard.numel, numel - start);
  if (own > 0) noGrad(() => tidy(() => shard.detach().narrow(0, 0, own).copy_(read(start, own))));
}

function shardOf(
  unit: Unit,
  checkpoint: Checkpoint,
  reads: (name: string) => boolean,
  { index, count, dtype, allocate = inMemory }: LoadShardsOptions,
): Tensor {
  const length = partSize(unit, count);
  const shard = allocate([length], dtype);
  fillFrom(shard, fileRanges(unit, index * length, length), (range) =>
    reads(range.name)
      ? checkpoint.loadRange(range.name, range.from, range.count, { dtype })
      : zeros([range.count], { dtype }),
  );
  if (!tidy(() => Number.isFinite(shard.sum().item())))
    throw new ModelFileError(
      checkpoint.folder,
      `a weight of ${unit.name} is infinite or not a number (in part ${index} of ${count})`,
    );
  return shard;
}

/** Puts ranges into their places of a shard [part]. */
export function fillFrom(
  shard: Tensor,
  ranges: readonly FileRange[],
  read: (range: FileRange) => Tensor,
): void {
  noGrad(() => {
    for (const range of ranges)
      tidy(() => shard.detach().narrow(0, range.to, range.count).copy_(read(range)));
  });
}
