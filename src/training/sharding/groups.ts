/**
 * @file Which ranks share a copy of the weights. With hybrid sharding there are several copies: each is in
 * shards over neighbouring ranks (of one machine, where launchers number them so), and the ranks that have
 * the same part of different copies exchange gradients.
 *
 *   4 ranks, 2 per copy:   shards [0 1] [2 3]   replicas [0 2] [1 3]
 */
import { OptionError } from "../../assembly/index.ts";
import type { ProcessGroup } from "../../torch/index.ts";
import type { Ranks } from "../ranks/ranks.ts";

export interface ShardGroups {
  /** The ranks of one copy, in order. */
  readonly shard: ProcessGroup;
  /** The ranks that have the same part; undefined: there is one copy. */
  readonly replicas: ProcessGroup | undefined;
  /** Whether rank 0 is in this copy: it is the one that is saved. */
  readonly isSaved: boolean;
}

/** Groups by the number of ranks that share a copy, made when first asked for, by all ranks. */
export interface ShardGroupsOf {
  of(ranksPerCopy: number | undefined): ShardGroups;
  close(): void;
}

export function shardGroups(ranks: Ranks): ShardGroupsOf {
  const made = new Map<number, ShardGroups>();
  return {
    of(ranksPerCopy = ranks.size) {
      const size = requireDivisor(ranksPerCopy, ranks.size);
      let groups = made.get(size);
      if (!groups) {
        const first = Math.floor(ranks.rank / size) * size;
        const numbers = Array.from({ length: ranks.size }, (_, i) => i);
        // Of their own even if all ranks are in them: what is on its way in the background does not
        // hold up what the run says to itself.
        const shard = ranks.subgroup(numbers.slice(first, first + size));
        const same = numbers.filter((rank) => rank % size === ranks.rank % size);
        const replicas = same.length > 1 ? ranks.subgroup(same) : undefined;
        groups = { shard, replicas, isSaved: first === 0 };
        made.set(size, groups);
      }
      return groups;
    },
    close() {
      for (const { shard, replicas } of made.values()) {
        replicas?.destroy();
        shard.destroy();
      }
    },
  };
}

function requireDivisor(size: number, ranks: number): number {
  if (ranks % size === 0) return size;
  throw new OptionError(
    `fsdp_size is ${size}, and there are ${ranks} ranks: weights are in shards over groups of that many ` +
      `ranks, so it must divide their number. -1 is all of them.`,
  );
}
