/**
 * @file The critic: how good is it to be here?
 *
 *   compute_values   batchValues(model, batch)
 *   update_critic    updateCritic(critic, batch, …)
 *
 * The value of a trained token is what the model says at the token before it: the state in which the
 * token was chosen.
 */
import { valueLoss } from "../../algorithms/index.ts";
import { type Model, values } from "../../models/index.ts";
import type { Batch } from "../../rollout/index.ts";
import type { Tensor } from "../../torch/index.ts";
import type { CriticOptions } from "../options.ts";
import type { TrainedModel, UpdateOptions, UpdateResult } from "./optimize.ts";
import { passTokens } from "./pass-tokens.ts";
import { inPrecision, type PassSettings, type Precision } from "./passes.ts";
import { atOnce } from "./steps.ts";
import { overTrainedTokens, type PackedRows, packRows, valuesAt } from "./tokens.ts";

/** Values of the trained tokens [tokens], 0 elsewhere. */
export function batchValues(
  model: Model,
  batch: Batch,
  settings: Omit<PassSettings, "temperature">,
): Float64Array {
  return overTrainedTokens(batch, model, settings, (rows) =>
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
  settings: CriticOptions,
  precision: Precision,
  options: UpdateOptions,
): UpdateResult {
  const { aggregation, horizon, clipRange } = settings;
  const layersPerSegment = settings.gradientCheckpointing ? 1 : 0;
  const { tokensPerPass = passTokens(critic.model.config, settings.gradientCheckpointing) } =
    options;
  const steps = critic.update(batch, { ...options, tokensPerPass }, (pass, counts) => {
    const rows = packRows(batch, pass, critic.model, options);
    return valueLoss(
      {
        rows: rows.rows,
        counts,
        aggregation,
        horizon,
        values: valuesOf(critic.model, rows, precision, layersPerSegment),
        oldValues: valuesAt(inputs.oldValues, rows),
        returns: valuesAt(inputs.returns, rows),
      },
      { clipRange },
    );
  });
  return atOnce(steps);
}
