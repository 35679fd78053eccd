/**
 * @file Writes a model's weights in one file, or in shards of limited size with an index.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { writeJson } from "../../folders/index.ts";
import type { Tensor } from "../../torch/index.ts";
import { ModelFileError } from "../checkpoint/errors.ts";
import { INDEX_FILE, SINGLE_FILE } from "./checkpoint.ts";
import {
  type LaterTensor,
  type NamedTensor,
  planTensors,
  type WriteOptions,
  writePlanned,
} from "./writer.ts";

export interface ShardOptions extends WriteOptions {
  /** A larger single tensor gets a shard of its own. Default: 5 GB, as transformers. */
  maximumShardBytes?: number;
}

/**
 * Writes weights into a folder that has none yet, in the order given; the index comes last, so an
 * interrupted write leaves no folder that looks complete.
 */
export function writeCheckpoint(
  folder: string,
  tensors: Iterable<readonly [string, Tensor | LaterTensor]>,
  options: ShardOptions = {},
): void {
  const { dtype, metadata, maximumShardBytes = 5e9 } = options;
  if (!(maximumShardBytes > 0))
    throw new RangeError(`maximumShardBytes: expected a positive number, got ${maximumShardBytes}`);
  const present = readdirSync(folder).find((name) => /^model.*\.safetensors/.test(name));
  if (present !== undefined)
    throw new ModelFileError(folder, `has weights already (${present}); write to a new folder`);
  const shards = fillShards(planTensors(tensors, dtype), maximumShardBytes);
  if (shards.length === 1) {
    writePlanned(join(folder, SINGLE_FILE), shards[0]!, metadata);
    return;
  }
  const places: [string, string][] = [];
  shards.forEach((shard, i) => {
    const name = shardName(i + 1, shards.length);
    writePlanned(join(folder, name), shard, metadata);
    places.push(...shard.map((tensor): [string, string] => [tensor.name, name]));
  });
  const total = shards.flat().reduce((sum, { byteLength }) => sum + byteLength, 0);
  writeJson(join(folder, INDEX_FILE), {
    metadata: { total_size: total },
    weight_map: Object.fromEntries(places.sort(([a], [b]) => (a < b ? -1 : 1))),
  });
}

function shardName(number: number, count: number): string {
  const digits = (value: number): string => String(value).padStart(5, "0");
  return `model-${digits(number)}-of-${digits(count)}.safetensors`;
}

/** Fills one shard after the other; at least one, even if it is empty. */
function fillShards(tensors: readonly NamedTensor[], limit: number): NamedTensor[][] {
  const shards: NamedTensor[][] = [[]];
  let size = 0;
  for (const tensor of tensors) {
    if (size > 0 && size + tensor.byteLength > limit) {
      shards.push([]);
      size = 0;
    }
    shards.at(-1)!.push(tensor);
    size += tensor.byteLength;
  }
  return shards;
}
