/**
 * @file Generation with weights that are split over several ranks: heads, feed-forward columns and vocabulary.
 *
 * The rank whose turn it is schedules: its engine plans a step and tells the others, which compute the same
 * step with their parts of weights and cache. Products are summed over the ranks twice per layer; logits come
 * together at the end. Ranks take turns, each with its own requests.
 */
import {
  type Adapter,
  embeddingScale,
  type Model,
  type ModelConfig,
  modelOf,
  type TensorSlices,
  tensorSlices,
} from "../models/index.ts";
import {
  type Dtype,
  fromTypedArray,
  noGrad,
  type ProcessGroup,
  type Tensor,
  tidy,
} from "../torch/index.ts";
import { type CacheStore, newCacheStore } from "./cache/store.ts";
import type { Layout } from "./layout.ts";
import { operatorPass } from "./operator-pass.ts";
import { type RotaryTable, rotaryTable } from "./step.ts";

/** What of a pass is done over the ranks. */
export interface ModelParts {
  /** Tells the others what is computed next; on ranks that follow, nothing. */
  begin(layout: Layout): void;
  /** The tokens' embeddings [tokens, hiddenSize]. */
  embedded(ids: Tensor): Tensor;
  /** [rows, hiddenSize] to logits [rows, vocabulary]. */
  logits(hidden: Tensor): Tensor;
}

export interface PartModel extends Model {
  readonly parts: ModelParts;
}

export interface TensorParallel {
  readonly model: PartModel;
  readonly slices: TensorSlices;
  /** The memory of the cache, of which each rank has its heads'. For createEngine. */
  newCache(config: ModelConfig, pages: number): CacheStore;
  /** Bytes of this rank's part of the weights. */
  readonly weightBytes: number;
  /** Takes over a tensor that is here as a whole. */
  load(name: string, whole: Tensor): void;
  /** Runs every rank's work, one rank after the other, while the others follow. */
  takeTurns<Result>(work: () => Promise<Result>): Promise<Result>;
  dispose(): void;
}

/** What the rank whose turn it is tells the others; null: its turn is over. */
type Told = { readonly pages: number; readonly layout: Layout } | null;

export function tensorParallel(
  whole: ModelConfig,
  dtype: Dtype,
  group: ProcessGroup,
): TensorParallel {
  const place = { index: group.rank, count: group.worldSize };
  const slices = tensorSlices(whole, place);
  const own = modelOf(slices.config, slices.allocate(dtype));
  for (const parameter of own.parameters.values()) parameter.requiresGrad_(false);
  const table: RotaryTable = rotaryTable(own);
  let cache: CacheStore | undefined;
  let isLeading = false;

  /** One store for all turns: nothing in it outlives a turn. */
  const newCache = (config: ModelConfig, pages: number): CacheStore => {
    if (cache && cache.pages !== pages) {
      cache.dispose();
      cache = undefined;
    }
    cache ??= newCacheStore(config, pages);
    return { ...cache, dispose() {} };
  };

  /** A product's terms are summed; it also keeps the engine from the native pass. */
  const adapter: Adapter = {
    add: (_, matrix, __, product) =>
      matrix === "self_attn.o_proj" || matrix === "mlp.down_proj"
        ? group.allReduce(product)
        : product,
  };
  const parts: ModelParts = {
    begin(layout) {
      if (isLeading) group.broadcastObject<Told>({ pages: cache!.pages, layout }, group.rank);
    },
    embedded: (ids) =>
      tidy(() => {
        const table = own.parameters.get("model.embed_tokens.weight")!;
        const [words, width] = table.shape as [number, number];
        const first = words * group.rank;
        const places = ids.toNumbers();
        const mine = Array.from(places, (id) => id >= first && id < first + words);
        const rows = Array.from(places, (id, i) => BigInt(mine[i] ? id - first : 0));
        const found = table.embedding(fromTypedArray(BigInt64Array.from(rows)));
        const mask = fromTypedArray(Float32Array.from(mine, Number)).view([-1, 1]).to(found.dtype);
        const sum = group.allReduce(found.mul(mask.expand([mine.length, width])));
        const scale = embeddingScale(own);
        return scale === 1 ? sum : sum.mul(scale);
      }),
    logits: (hidden) =>
      tidy(() => {
        const [rows, { vocabularySize }] = [hidden.size(0), whole];
        const output = hidden.linear(own.output);
        if (rows === 0) return output.narrow(1, 0, 0);
        // [ranks, rows, words] to [rows, ranks × words]
        const all = group.allGather(output).permute([1, 0, 2]).reshape([rows, -1]);
        return all.narrow(1, 0, vocabularySize).contiguous();
      }),
  };
  const model: PartModel = {
    ...own,
    get output() {
      return own.output;
    },
    adapter,
    parts,
  };

  /** Computes what a rank tells until its turn is over. */
  function follow(leader: number): void {
    for (;;) {
      const told = group.broadcastObject<Told>(null, leader);
      if (told === null) return;
      const store = newCache(slices.config, told.pages);
      noGrad(() => tidy(() => void operatorPass(model, store, table, told.layout)));
    }
  }

  return {
    model,
    slices,
    newCache,
    weightBytes: [...own.parameters.values()].reduce((sum, { byteLength }) => sum + byteLength, 0),
    load(name, tensor) {
      noGrad(() => tidy(() => own.parameters.get(name)!.copy_(slices.sliceOf(name, tensor))));
    },
    async takeTurns<Result>(work: () => Promise<Result>): Promise<Result> {
      let result: Result | undefined;
      for (let turn = 0; turn < group.worldSize; turn++) {
        if (turn !== group.rank) {
          follow(turn);
          continue;
        }
        isLeading = true;
        try {
          result = await work();
        } finally {
          isLeading = false;
          group.broadcastObject<Told>(null, group.rank);
        }
      }
      return result as Result;
    },
    dispose() {
      cache?.dispose();
      table.dispose();
      own.dispose();
    },
  };
}
