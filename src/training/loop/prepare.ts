/**
 * @file What is computed of a batch before anything is learned from it: log-probabilities of the policy
 * and of the reference, values, mismatch weights; and the loud check of what was recorded.
 */
import {
  importanceWeights,
  type Metrics,
  offPolicyMetrics,
  probabilityDifferences,
  rejectMismatch,
} from "../../algorithms/index.ts";
import { type Batch, checkLogprobs } from "../../rollout/index.ts";
import { needsReference, type PassOptions, type TrainingOptions } from "../options.ts";
import type { Ranks } from "../ranks/ranks.ts";
import { batchLogprobs, batchSquaredProbabilities } from "../workers/actor.ts";
import { batchValues } from "../workers/critic.ts";
import { updatesPerEpoch } from "../workers/optimize.ts";
import type { Workers } from "../workers/workers.ts";
import type { Stopwatch } from "./stopwatch.ts";

/** All [tokens] of the batch. */
export interface Prepared {
  /** The batch, without the tokens that are rejected. */
  readonly batch: Batch;
  /** Undefined where the update computes them itself. */
  readonly oldLogprobs: Float64Array | undefined;
  /** As recorded while sampling, of the distribution that is trained. */
  readonly recordedLogprobs: Float64Array | undefined;
  readonly referenceLogprobs: Float64Array | undefined;
  readonly values: Float64Array | undefined;
  readonly squaredProbabilities: Float64Array | undefined;
  readonly importanceWeights: Float64Array | undefined;
  readonly metrics: Metrics;
}

export function prepare(
  { options, workers, ranks }: { options: TrainingOptions; workers: Workers; ranks: Ranks },
  batch: Batch,
  time: Stopwatch,
): Prepared {
  const { passes, advantages, actor } = options;
  const model = workers.actor.model;
  const recorded = recordedLogprobs(batch, options);
  const squares = advantages.estimator.needs.squaredProbabilities || actor.varianceProxy;
  const metrics: Metrics = {};

  // One update on fresh samples computes the very same numbers itself, and compares them (actor.ts).
  const rows = ranks.sum([batch.rows.offsets.length - 1])[0]!;
  const { batching } = actor;
  const onlyUpdate = batching.epochs === 1 && updatesPerEpoch(rows, batching) === 1;
  const wanted =
    !onlyUpdate ||
    advantages.klInReward !== undefined ||
    passes.importance !== undefined ||
    passes.rejection !== undefined ||
    // Rows that are not drawn again are not computed by the update.
    advantages.resampling !== undefined ||
    squares ||
    !recorded;
  const oldLogprobs = !wanted
    ? undefined
    : time.phase("old_log_prob", () =>
        recorded && passes.trustRecorded
          ? sampled(recorded, batch, (members) => batchLogprobs(model, batch, passes, members))
          : batchLogprobs(model, batch, passes),
      );
  let trained = batch;
  if (oldLogprobs && recorded) {
    const check = checkLogprobs(batch, oldLogprobs, passes.logprobTolerance, recorded);
    metrics["training/rollout_logprob_diff_max"] = check.largest;
    const mismatch = { rows: batch.rows, trainLogprobs: oldLogprobs, rolloutLogprobs: recorded };
    Object.assign(metrics, probabilityDifferences(mismatch));
    for (const [name, value] of Object.entries(offPolicyMetrics(mismatch)))
      metrics[`rollout_corr/${name}`] = value;
    if (passes.rejection) {
      const found = rejectMismatch(mismatch, passes.rejection.options, passes.rejection.thresholds);
      trained = { ...batch, rows: found.rows };
      for (const [name, value] of Object.entries(found.metrics))
        metrics[`rollout_corr/${name}`] = value;
    }
  }

  const referenceLogprobs = needsReference(options)
    ? time.phase("ref", () =>
        batchLogprobs(workers.reference!, batch, {
          ...passes,
          tokensPerPass: options.reference.tokensPerPass,
        }),
      )
    : undefined;
  const { critic } = workers;
  const values = critic && time.phase("values", () => batchValues(critic.model, batch, passes));
  const squaredProbabilities = squares
    ? time.phase("old_log_prob", () => batchSquaredProbabilities(model, batch, passes))
    : undefined;
  return {
    batch: trained,
    oldLogprobs,
    recordedLogprobs: recorded,
    referenceLogprobs,
    values,
    squaredProbabilities,
    importanceWeights: weightsOf(passes, trained, oldLogprobs, recorded, metrics),
    metrics,
  };
}

/** So many rows are computed anew where recorded log-probabilities are trusted. */
const SAMPLED_ROWS = 4;

/** The recorded log-probabilities, but for some rows, which are computed: the check compares those. */
function sampled(
  recorded: Float64Array,
  { rows: { offsets } }: Batch,
  compute: (members: readonly number[]) => Float64Array,
): Float64Array {
  const count = offsets.length - 1;
  const stride = Math.max(1, Math.floor(count / SAMPLED_ROWS));
  const members = Array.from({ length: count }, (_, row) => row).filter(
    (row) => row % stride === 0,
  );
  const computed = compute(members);
  const result = recorded.slice();
  for (const row of members)
    result.set(computed.subarray(offsets[row]!, offsets[row + 1]!), offsets[row]!);
  return result;
}

/**
 * The recorded log-probabilities of the distribution that is trained: the model's at the rollout's
 * temperature. With top-k or top-p they are of another distribution, unless the temperature is 1.
 */
function recordedLogprobs(
  batch: Batch,
  { rollout: { sampling }, play: { constrain } }: TrainingOptions,
): Float64Array | undefined {
  const { temperature, topK, topP } = sampling;
  if (temperature === 1) return batch.logprobs;
  return topK === 0 && topP === 1 && !constrain ? batch.sampledLogprobs : undefined;
}

function weightsOf(
  { importance }: PassOptions,
  { rows }: Batch,
  train: Float64Array | undefined,
  rollout: Float64Array | undefined,
  metrics: Metrics,
): Float64Array | undefined {
  if (!importance || !train || !rollout) return undefined;
  const found = importanceWeights(
    { rows, trainLogprobs: train, rolloutLogprobs: rollout },
    importance,
  );
  for (const [name, value] of Object.entries(found.metrics))
    metrics[`rollout_corr/${name}`] = value;
  return found.weights;
}
