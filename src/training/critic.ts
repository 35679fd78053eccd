/**
 * @file The critic: how good is it to be here?
 *
 *   compute_values   batchValues(model, batch)
 *   update_critic    updateCritic(critic, batch, …)
 *
 * The value of a trained token is what the model says at the token before it: the state in which the
 * token was chosen.
 */
import { valueLoss } from "../algorithms/index.ts";
import type { Config } from "../config/index.ts";
import { type Model, values } from "../models/index.ts";
import type { Batch } from "../rollout/index.ts";
import type { Tensor } from "../torch/index.ts";
import type { TrainedModel, UpdateOptions, UpdateResult } from "./optimize.ts";
import { inPrecision, type PassSettings } from "./pass-settings.ts";
import { overTrainedTokens, type PackedRows, packRows, taken } from "./tokens.ts";

type Precision = PassSettings["autocast"];

/** Values of the trained tokens [tokens], 0 elsewhere. */
export function batchValues(
  model: Model,
  batch: Batch,
  settings: Omit<PassSettings, "temperature">,
): Float64Array {
  return overTrainedTokens(batch, model.device, settings.tokensPerPass, (rows) =>
    valuesOf(model, rows, settings.autocast, 0),
  );
}

function valuesOf(
  model: Model,
  rows: PackedRows,
  precision: Precision,
  layersPerSegment: number,
): Tensor {
  return inPrecision(precision, model.device, () =>
    values(model, rows.packed, { layersPerSegment }).indexSelect(0, rows.before),
  );
}

/** All [tokens] of the batch. */
export interface CriticInputs {
  readonly returns: Float64Array;
  readonly oldValues: Float64Array;
}

export function updateCritic(
  critic: TrainedModel,
  batch: Batch,
  inputs: CriticInputs,
  config: Config,
  options: UpdateOptions,
): UpdateResult {
  const { actor } = config.actor_rollout_ref;
  const layersPerSegment = config.critic.model.enable_gradient_checkpointing ? 1 : 0;
  return critic.update(batch, options, (pass, counts) => {
    const rows = packRows(batch, pass, critic.model.device);
    return valueLoss(
      {
        rows: rows.rows,
        counts,
        aggregation: config.critic.loss_agg_mode ?? actor.loss_agg_mode,
        horizon: actor.loss_scale_factor ?? config.data.max_response_length,
        values: valuesOf(critic.model, rows, actor.autocast, layersPerSegment),
        oldValues: taken(inputs.oldValues, rows),
        returns: taken(inputs.returns, rows),
      },
      { clipRange: config.critic.cliprange_value },
    );
  });
}
