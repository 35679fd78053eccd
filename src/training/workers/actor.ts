/**
 * @file The actor: the policy that generates and learns.
 *
 *   compute_log_prob   logprobs(batch)
 *   update_actor       update(batch, …)
 */
import {
  actorLoss,
  computePolicyLoss,
  entropyBonus,
  klLoss,
  type Metrics,
  sumOfSquaredProbabilities,
} from "../../algorithms/index.ts";
import { hiddenStates, type Model, type TokenOutputs, tokenOutputs } from "../../models/index.ts";
import { type Batch, checkLogprobs, type LogprobCheck } from "../../rollout/index.ts";
import { deriveSeed, Generator } from "../../torch/index.ts";
import type { ActorOptions, PassOptions, TrainingOptions } from "../options.ts";
import type { TrainedModel, UpdateOptions, UpdateResult } from "./optimize.ts";
import { inPrecision, type PassSettings } from "./passes.ts";
import { overTrainedTokens, type PackedRows, packRows, scatterInto, valuesAt } from "./tokens.ts";

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
  /** KL between the policies before and after; undefined where no update was made. */
  readonly moved: number | undefined;
  /** The policy's mean entropy per token. */
  readonly entropy: number | undefined;
  /** Before clipping, mean over the updates. */
  readonly gradientNorm: number | undefined;
}

/** What the losses and updates call these; nobody else decides by a metric's name. */
const PPO_KL = "actor/ppo_kl";
const ENTROPY = "actor/entropy";
const GRADIENT_NORM = "actor/grad_norm";

export interface ActorSettings {
  readonly actor: ActorOptions;
  readonly passes: PassOptions;
  readonly gradientCheckpointing: boolean;
  /** Whether a LoRA adapter drops out. */
  readonly hasDropout: boolean;
}

/** What of a run's options an update of its actor follows. */
export function actorSettings({ actor, passes, model }: TrainingOptions): ActorSettings {
  return {
    ...{ actor, passes },
    gradientCheckpointing: model.gradientCheckpointing,
    hasDropout: (model.lora?.dropout ?? 0) > 0,
  };
}

export function updateActor(
  actor: TrainedModel,
  batch: Batch,
  inputs: ActorInputs,
  settings: ActorSettings,
  options: UpdateOptions,
): ActorUpdate {
  const { actor: own, passes } = settings;
  const stream = (name: string, device?: Model["device"]) =>
    new Generator(deriveSeed(options.seed, name, options.iteration), device);
  const dropout = settings.hasDropout ? stream("dropout", actor.model.device) : null;
  const chosen = stream("policy loss");
  const layersPerSegment = settings.gradientCheckpointing ? 1 : 0;
  // The only update of an iteration computes what was recorded, for every token: it is compared here.
  // With several updates, `prepare` has compared them.
  const compares = inputs.oldLogprobs === undefined && !dropout;
  const recomputed = new Float64Array(compares ? batch.ids.length : 0);

  const result = actor.update(batch, options, (pass, counts) => {
    const rows = packRows(batch, pass, actor.model.device);
    const { logprobs, entropies } = outputsOf(actor.model, rows, passes, {
      entropy: true,
      layersPerSegment,
      dropout,
    });
    if (compares) scatterInto(recomputed, rows, logprobs.detach().toNumbers());
    const at = (values: Float64Array | undefined) => values && valuesAt(values, rows);
    const aggregation = {
      rows: rows.rows,
      counts,
      aggregation: own.aggregation,
      horizon: own.horizon,
    };
    const policy = computePolicyLoss(
      own.loss.name,
      own.loss.kind,
      {
        ...aggregation,
        logprobs,
        oldLogprobs: at(inputs.oldLogprobs) ?? logprobs.detach(),
        advantages: valuesAt(inputs.advantages, rows),
        importanceWeights: at(inputs.importanceWeights),
      },
      { ...own.lossOptions, generator: chosen },
    );
    const metrics: Metrics = { ...policy.metrics };
    const entropy = entropyBonus({ ...aggregation, entropy: entropies! });
    Object.assign(metrics, entropy.metrics);
    const reference = own.kl && at(inputs.referenceLogprobs);
    const kl =
      reference &&
      klLoss({ ...aggregation, logprobs, referenceLogprobs: reference }, own.kl!.estimator);
    if (kl) Object.assign(metrics, kl.metrics);
    const loss = actorLoss({
      policy: policy.loss,
      entropy: own.entropy === 0 ? undefined : { loss: entropy.loss, coefficient: own.entropy },
      kl: kl && { loss: kl.loss, coefficient: own.kl!.coefficient },
    });
    return { loss, metrics };
  });
  dropout?.dispose();
  chosen.dispose();
  const check =
    compares && result.skipped.length === 0 && inputs.recordedLogprobs
      ? checkLogprobs(batch, recomputed, passes.logprobTolerance, inputs.recordedLogprobs)
      : undefined;
  if (own.kl) result.metrics["actor/kl_coef"] = own.kl.coefficient;
  const { [PPO_KL]: moved, [ENTROPY]: entropy, [GRADIENT_NORM]: gradientNorm } = result.metrics;
  return { ...result, check, moved, entropy, gradientNorm };
}
