/**
 * @file A run's models in shards: loaded, each rank its part, into memory or into files.
 */
import { OptionError } from "../../assembly/index.ts";
import { loadShards, type ShardedModel, shardedModel } from "../../models/index.ts";
import type { Dtype } from "../../torch/index.ts";
import type { ShardingOptions } from "../options.ts";
import type { Allocate } from "../workers/offload.ts";
import type { ShardGroups } from "./groups.ts";

export interface ShardedSettings {
  readonly sharding: ShardingOptions;
  readonly groups: ShardGroups;
  /** The model's dtype, where nothing says otherwise. */
  readonly dtype: Dtype;
  /** Trained weights are kept in float32, whatever is computed with. */
  readonly frozen: boolean;
  readonly asValueModel?: boolean;
  readonly allocate: Allocate | undefined;
}

export function loadSharded(folder: string, settings: ShardedSettings): ShardedModel {
  const { sharding, groups, frozen } = settings;
  const { shard: group } = groups;
  const computed = sharding.computeDtype ?? settings.dtype;
  const { config, shards } = loadShards(folder, {
    index: group.rank,
    count: group.worldSize,
    dtype: frozen ? computed : "float32",
    allocate: settings.allocate,
    asValueModel: settings.asValueModel ?? false,
  });
  return shardedModel(config, shards, group, {
    dtype: computed,
    frozen,
    prefetch: sharding.prefetch,
    reshard: sharding.reshardAfterForward,
  });
}

export function requireCpu(device: string): void {
  if (device !== "cpu")
    throw new OptionError(
      `strategy fsdp keeps weights in shards on the device cpu, and the device is ${device}. ` +
        "strategy=ddp trains with whole weights in each process.",
    );
}
