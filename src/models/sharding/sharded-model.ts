/**
 * @file A model of which this process has a part. It computes as others do, inside passes (units.ts); what an
 * optimiser trains are its shards, one vector per unit.
 */
import { asParameters, dispose, type ProcessGroup, type Tensor } from "../../torch/index.ts";
import type { ModelConfig } from "../config/model-config.ts";
import type { Model } from "../decoder/model.ts";
import { ROOT_UNIT, type Unit, unitsOf } from "./layout.ts";
import { type ShardedUnits, shardedUnits, type UnitOptions } from "./units.ts";

export interface ShardedModel extends Model {
  readonly units: ShardedUnits;
  /** The root first. */
  readonly unitList: readonly Unit[];
  /** [part] by unit. */
  readonly shards: ReadonlyMap<string, Tensor>;
  /** The ranks that have the parts, in order. */
  readonly group: ProcessGroup;
}

export function isSharded(model: Model): model is ShardedModel {
  return "unitList" in model;
}

/** A model over shards that are already there. */
export function shardedModel(
  config: ModelConfig,
  shards: ReadonlyMap<string, Tensor>,
  group: ProcessGroup,
  options: UnitOptions,
): ShardedModel {
  if (!options.frozen) asParameters(shards);
  const unitList = unitsOf(config);
  const units = shardedUnits(unitList, shards, group, options);
  const requireHere = (unit: string): void => {
    if (!units.isHere(unit))
      throw new Error(
        `the weights of ${unit} are not here: a sharded model has them in passes only`,
      );
  };
  return {
    config,
    parameters: units.present,
    trainable: options.frozen ? new Map() : shards,
    adapter: null,
    device: "cpu",
    units,
    unitList,
    shards,
    group,
    layer(index, name) {
      requireHere(`model.layers.${index}`);
      return units.present.get(`model.layers.${index}.${name}`) ?? null;
    },
    get output() {
      requireHere(ROOT_UNIT);
      const name = config.tiedEmbeddings ? "model.embed_tokens.weight" : "lm_head.weight";
      const output = units.present.get(name);
      if (!output) throw new Error(`this model has no output layer (${name})`);
      return output;
    },
    weights() {
      throw new Error("a sharded model's weights are never whole; save it with wholeTensors");
    },
    dispose: () => dispose(shards),
  };
}
