/**
 * @file The actor: the policy that generates and learns.
 *
 *   compute_log_prob   logprobs(batch)
 *   update_actor       update(batch, …)
 */
import {
  actorLoss,
  entropyBonus,
  klLoss,
  type Metrics,
  type PolicyLossName,
  policyLoss,
  sumOfSquaredProbabilities,
} from "../algorithms/index.ts";
import type { Config } from "../config/index.ts";
import { hiddenStates, type Model, type TokenOutputs, tokenOutputs } from "../models/index.ts";
import { type Batch, checkLogprobs, type LogprobCheck } from "../rollout/index.ts";
import { derivedGenerator, type Generator } from "../torch/index.ts";
import type { TrainedModel, UpdateOptions, UpdateResult } from "./optimize.ts";
import { inPrecision, logprobTolerance, type PassSettings } from "./pass-settings.ts";
import { overTrainedTokens, type PackedRows, packRows, put, taken } from "./tokens.ts";

/** Log-probabilities of the trained tokens [tokens] of all rows or of some, 0 elsewhere. */
export function batchLogprobs(
  model: Model,
  batch: Batch,
  settings: PassSettings,
  members?: readonly number[],
): Float64Array {
  return overTrainedTokens(
    batch,
    model.device,
    settings.tokensPerPass,
    (rows) => outputsOf(model, rows, settings, { entropy: false }).logprobs,
    members,
  );
}

/** Σ π² over the vocabulary at the trained tokens [tokens], for the optimal token baseline. */
export function batchSquaredProbabilities(
  model: Model,
  batch: Batch,
  { temperature, tokensPerPass }: PassSettings,
): Float64Array {
  return overTrainedTokens(batch, model.device, tokensPerPass, (rows) => {
    const hidden = hiddenStates(model, rows.packed).indexSelect(0, rows.before);
    return sumOfSquaredProbabilities(hidden.linear(model.output).div(temperature));
  });
}

interface OutputOptions {
  entropy: boolean;
  layersPerSegment?: number;
  dropout?: Generator | null;
}

function outputsOf(
  model: Model,
  rows: PackedRows,
  { temperature, autocast: precision }: PassSettings,
  options: OutputOptions,
): TokenOutputs {
  return inPrecision(precision, model.device, () =>
    tokenOutputs(model, rows.packed, rows.before, rows.targets, { ...options, temperature }),
  );
}

/** What an update of the actor is made from, all [tokens] of the batch. */
export interface ActorInputs {
  readonly advantages: Float64Array;
  /**
   * Before this iteration's updates. Undefined: there is only one update, on fresh samples, and what
   * it computes itself is exactly that.
   */
  readonly oldLogprobs?: Float64Array | undefined;
  readonly referenceLogprobs?: Float64Array | undefined;
  readonly importanceWeights?: Float64Array | undefined;
  /** As recorded while sampling; an only update compares them with what it computes. */
  readonly recordedLogprobs?: Float64Array | undefined;
}

export interface ActorUpdate extends UpdateResult {
  /** Where the update itself computed what was recorded. */
  readonly check: LogprobCheck | undefined;
}

export function updateActor(
  actor: TrainedModel,
  batch: Batch,
  inputs: ActorInputs,
  config: Config,
  options: UpdateOptions,
): ActorUpdate {
  const { actor: settings, model, rollout } = config.actor_rollout_ref;
  const passSettings: PassSettings = {
    temperature: rollout.temperature,
    tokensPerPass: options.tokensPerPass,
    autocast: settings.autocast,
  };
  const draws =
    model.lora_rank > 0 && model.lora_dropout > 0
      ? derivedGenerator(options.seed, "dropout", options.step, actor.model.device)
      : null;
  const layersPerSegment = model.enable_gradient_checkpointing ? 1 : 0;
  // The only update of an iteration computes what was recorded, for every token: it is compared here.
  // With several updates, `prepare` has compared them.
  const compares = inputs.oldLogprobs === undefined && !draws;
  const recomputed = new Float64Array(compares ? batch.ids.length : 0);

  const result = actor.update(batch, options, (pass, counts) => {
    const rows = packRows(batch, pass, actor.model.device);
    const { logprobs, entropies } = outputsOf(actor.model, rows, passSettings, {
      entropy: true,
      layersPerSegment,
      dropout: draws,
    });
    if (compares) put(recomputed, rows, logprobs.detach().toNumbers());
    const at = (values: Float64Array | undefined) => values && taken(values, rows);
    const aggregation = {
      rows: rows.rows,
      counts,
      aggregation: settings.loss_agg_mode,
      horizon: settings.loss_scale_factor ?? config.data.max_response_length,
    };
    const policy = policyLoss(
      settings.policy_loss.loss_mode as PolicyLossName,
      {
        ...aggregation,
        logprobs,
        oldLogprobs: at(inputs.oldLogprobs) ?? logprobs.detach(),
        advantages: taken(inputs.advantages, rows),
        importanceWeights: at(inputs.importanceWeights),
      },
      {
        clipRatio: settings.clip_ratio,
        clipRatioLow: settings.clip_ratio_low,
        clipRatioHigh: settings.clip_ratio_high,
        clipRatioC: settings.clip_ratio_c,
      },
    );
    const metrics: Metrics = { ...policy.metrics };
    const entropy = entropyBonus({ ...aggregation, entropy: entropies! });
    Object.assign(metrics, entropy.metrics);
    const reference = settings.use_kl_loss ? at(inputs.referenceLogprobs) : undefined;
    const kl =
      reference &&
      klLoss({ ...aggregation, logprobs, referenceLogprobs: reference }, settings.kl_loss_type);
    if (kl) Object.assign(metrics, kl.metrics);
    const loss = actorLoss({
      policy: policy.loss,
      entropy:
        settings.entropy_coeff === 0
          ? undefined
          : { loss: entropy.loss, coefficient: settings.entropy_coeff },
      kl: kl && { loss: kl.loss, coefficient: settings.kl_loss_coef },
    });
    return { loss, metrics };
  });
  draws?.dispose();
  const check =
    compares && result.skipped.length === 0 && inputs.recordedLogprobs
      ? checkLogprobs(batch, recomputed, logprobTolerance(config), inputs.recordedLogprobs)
      : undefined;
  if (settings.use_kl_loss) result.metrics["actor/kl_coef"] = settings.kl_loss_coef;
  return { ...result, check };
}
