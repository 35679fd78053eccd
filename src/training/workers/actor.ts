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
  tokenWeights,
} from "../../algorithms/index.ts";
import { hiddenStates, type Model, type TokenOutputs, tokenOutputs } from "../../models/index.ts";
import { type Batch, checkLogprobs, type LogprobCheck } from "../../rollout/index.ts";
import { cat, deriveSeed, Generator, type Tensor, tidy } from "../../torch/index.ts";
import type { ActorOptions, PassOptions, TrainingOptions } from "../options.ts";
import type { TrainedModel, UpdateOptions, UpdateResult } from "./optimize.ts";
import { passTokens } from "./pass-tokens.ts";
import { inPrecision, type PassSettings } from "./passes.ts";
import { atOnce, type Steps } from "./steps.ts";
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
    model,
    settings,
    (rows) => outputsOf(model, rows, settings, { entropy: false }).logprobs,
    members,
  );
}

/** That one part makes on a device: 64 MB of float32. */
const MOST_LOGITS = 2 ** 24;

/** Σ π² over the vocabulary at the trained tokens [tokens], for the optimal token baseline. */
export function batchSquaredProbabilities(
  model: Model,
  batch: Batch,
  settings: PassSettings,
): Float64Array {
  return overTrainedTokens(batch, model, settings, (rows) => {
    const hidden = hiddenStates(model, rows.packed).indexSelect(0, rows.before);
    const squares = (states: Tensor) =>
      tidy(() => sumOfSquaredProbabilities(states.linear(model.output).div(settings.temperature)));
    if (model.device === "cpu") return squares(hidden);
    // A device has less memory than the whole vocabulary would take at every token.
    const most = Math.max(1, Math.floor(MOST_LOGITS / model.config.vocabularySize));
    return cat(hidden.split(most).map(squares));
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
    tokenOutputs(model, rows.packed, rows.before, rows.targets, {
      ...options,
      temperature,
      allowed: rows.allowed,
    }),
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
  /** Who wants to see what the passes compute of single tokens. */
  readonly watch?: TokenWatch | undefined;
}

export interface TokenWatch {
  /** Whether a pass over these rows is of interest: else nothing is fetched. */
  wants(rows: readonly number[]): boolean;
  /** `tokens` fetches them. */
  see(tokens: () => ComputedTokens): void;
}

/** What one pass of an update computed, each [trained]. */
export interface ComputedTokens {
  /** Their places in the batch. */
  readonly places: Int32Array;
  /** The number of the mini-batch in the iteration, from 0. */
  readonly miniBatch: number;
  readonly logprobs: ArrayLike<number>;
  readonly oldLogprobs: ArrayLike<number>;
  readonly entropies: ArrayLike<number>;
  /** Importance weights included; Σ weights · losses over the mini-batch is its policy loss. */
  readonly losses: ArrayLike<number>;
  readonly weights: ArrayLike<number>;
  /** 1: the ratio was clipped. Undefined: the loss does not clip. */
  readonly clipped: ArrayLike<number> | undefined;
}

export interface ActorUpdate extends UpdateResult {
  /** Where the update itself computed what was recorded. */
  readonly check: LogprobCheck | undefined;
  /** KL between the policies before and after; undefined where no update was made. */
  readonly moved: number | undefined;
  /** The policy's mean entropy per token. */
  readonly entropy: number | undefined;
  /** Rows of this process that were not computed, because nothing is to be learned from them. */
  readonly idleRows: number;
  /** Before clipping, mean over the updates. */
  readonly gradientNorm: number | undefined;
}

/** What the losses and updates call these; nobody else decides by a metric's name. */
const PPO_KL = "actor/ppo_kl";
const ENTROPY = "actor/entropy";
const GRADIENT_NORM = "actor/grad_norm";
const CLIPPED = "actor/pg_clipfrac";

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

export function updateActor(...given: Parameters<typeof actorSteps>): ActorUpdate {
  return atOnce(actorSteps(...given));
}

/** An update in steps, a pass each. */
export function* actorSteps(
  actor: TrainedModel,
  batch: Batch,
  inputs: ActorInputs,
  settings: ActorSettings,
  options: UpdateOptions,
): Steps<ActorUpdate> {
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

  // Every sequence drops out by itself.
  const sharePrefixes = options.sharePrefixes && !dropout;
  const idle = computesAll(own) ? undefined : rowsWithoutSignal(batch, inputs.advantages);
  const { tokensPerPass = passTokens(actor.model.config, settings.gradientCheckpointing) } =
    options;
  const update = { ...options, tokensPerPass, sharePrefixes, idle };
  const isComputed = new Uint8Array(recomputed.length);
  const result = yield* actor.update(batch, update, (pass, counts, computed, miniBatch) => {
    const rows = packRows(batch, pass, actor.model, { sharePrefixes });
    const { logprobs, entropies } = outputsOf(actor.model, rows, passes, {
      entropy: true,
      layersPerSegment,
      dropout,
    });
    if (compares) {
      scatterInto(recomputed, rows, logprobs.detach().toNumbers());
      for (const place of rows.places) isComputed[place] = 1;
    }
    const at = (values: Float64Array | undefined) => values && valuesAt(values, rows);
    const aggregation = {
      rows: rows.rows,
      counts,
      computed,
      aggregation: own.aggregation,
      horizon: own.horizon,
    };
    const { kind } = own.loss;
    const oldLogprobs = at(inputs.oldLogprobs) ?? logprobs.detach();
    const watch = inputs.watch?.wants(pass) ? inputs.watch : undefined;
    const policy = computePolicyLoss(
      own.loss.name,
      kind,
      {
        ...aggregation,
        logprobs,
        oldLogprobs,
        advantages: valuesAt(inputs.advantages, rows),
        importanceWeights: at(inputs.importanceWeights),
        onTokens:
          watch &&
          ((losses, values) =>
            watch.see(() => ({
              places: rows.places,
              miniBatch,
              logprobs: numbersOf(logprobs),
              oldLogprobs: numbersOf(oldLogprobs),
              entropies: numbersOf(entropies!),
              losses: numbersOf(losses),
              weights: tokenWeights({
                ...aggregation,
                aggregation: kind.aggregation ?? own.aggregation,
              }),
              clipped: values[CLIPPED] && numbersOf(values[CLIPPED]),
            }))),
      },
      { ...own.lossOptions, generator: chosen },
    );
    const metrics: Metrics = { ...policy.metrics };
    // Where it is part of the loss, all rows are computed.
    const entropy = entropyBonus({ ...aggregation, counts: computed, entropy: entropies! });
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
      ? checkLogprobs(
          { ...batch, rows: { ...batch.rows, mask: isComputed } },
          recomputed,
          passes.logprobTolerance,
          inputs.recordedLogprobs,
        )
      : undefined;
  result.metrics["actor/idle_rows"] = (idle?.size ?? 0) / Math.max(1, batch.trajectoryOf.length);
  if (own.kl) result.metrics["actor/kl_coef"] = own.kl.coefficient;
  const { [PPO_KL]: moved, [ENTROPY]: entropy, [GRADIENT_NORM]: gradientNorm } = result.metrics;
  return { ...result, check, moved, entropy, gradientNorm, idleRows: idle?.size ?? 0 };
}

function numbersOf(values: Tensor | Float64Array): ArrayLike<number> {
  return values instanceof Float64Array ? values : values.detach().to("float64").toNumbers();
}

/** Whether rows have a gradient whose advantages are all 0. */
export function computesAll({ entropy, kl, loss }: ActorOptions): boolean {
  return entropy !== 0 || kl !== undefined || !loss.kind.needsSignal;
}

/** Of groups whose members all did equally well, mostly. */
export function rowsWithoutSignal({ rows }: Batch, advantages: Float64Array): ReadonlySet<number> {
  const { offsets, mask } = rows;
  const idle = new Set<number>();
  for (let row = 0; row < offsets.length - 1; row++) {
    let token = offsets[row]!;
    while (token < offsets[row + 1]! && (mask[token] === 0 || advantages[token] === 0)) token++;
    if (token === offsets[row + 1]!) idle.add(row);
  }
  return idle;
}
