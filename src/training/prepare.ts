/**
 * @file What is computed of a batch before anything is learned from it: log-probabilities of the policy
 * and of the reference, values, mismatch weights; and the loud check of what was recorded.
 */
import {
  advantageEstimators,
  importanceWeights,
  type Metrics,
  offPolicyMetrics,
  probabilityDifferences,
} from "../algorithms/index.ts";
import { type Config, needsReference } from "../config/index.ts";
import { type Batch, checkLogprobs } from "../rollout/index.ts";
import { batchLogprobs, batchSquaredProbabilities } from "./actor.ts";
import { batchValues } from "./critic.ts";
import { logprobTolerance, passSettings } from "./pass-settings.ts";
import type { Ranks } from "./ranks.ts";
import type { Stopwatch } from "./stopwatch.ts";
import { actorUpdateOptions } from "./update-options.ts";
import type { Workers } from "./workers.ts";

/** All [tokens] of the batch. */
export interface Prepared {
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
  { config, workers, ranks }: { config: Config; workers: Workers; ranks: Ranks },
  batch: Batch,
  step: number,
  time: Stopwatch,
): Prepared {
  const { rollout } = config.actor_rollout_ref;
  const settings = passSettings(config);
  const model = workers.actor.model;
  const { needs } = advantageEstimators[config.algorithm.adv_estimator];
  const recorded = recordedLogprobs(batch, rollout);
  const metrics: Metrics = {};

  // One update on fresh samples computes the very same numbers itself, and compares them (actor.ts).
  const rows = ranks.sum([batch.rows.offsets.length - 1])[0]!;
  const { miniBatchRows, epochs } = actorUpdateOptions(config, step);
  const onlyUpdate = epochs === 1 && Math.round(rows / miniBatchRows) <= 1;
  const wanted =
    !onlyUpdate ||
    config.algorithm.use_kl_in_reward ||
    config.algorithm.rollout_correction.rollout_is !== "none" ||
    "squaredProbabilities" in needs ||
    !recorded;
  const bypasses = wanted && recorded && config.algorithm.rollout_correction.bypass_mode;
  const oldLogprobs = !wanted
    ? undefined
    : time.phase("old_log_prob", () =>
        bypasses
          ? sampled(recorded, batch, (members) => batchLogprobs(model, batch, settings, members))
          : batchLogprobs(model, batch, settings),
      );
  if (oldLogprobs && recorded) {
    const check = checkLogprobs(batch, oldLogprobs, logprobTolerance(config), recorded);
    metrics["training/rollout_logprob_diff_max"] = check.largest;
    const mismatch = { rows: batch.rows, trainLogprobs: oldLogprobs, rolloutLogprobs: recorded };
    Object.assign(metrics, probabilityDifferences(mismatch));
    for (const [name, value] of Object.entries(offPolicyMetrics(mismatch)))
      metrics[`rollout_corr/${name}`] = value;
  }

  const referenceLogprobs = needsReference(config)
    ? time.phase("ref", () =>
        batchLogprobs(workers.lora?.base ?? workers.reference!, batch, settings),
      )
    : undefined;
  const { critic } = workers;
  const values = critic && time.phase("values", () => batchValues(critic.model, batch, settings));
  const squaredProbabilities =
    "squaredProbabilities" in needs
      ? time.phase("old_log_prob", () => batchSquaredProbabilities(model, batch, settings))
      : undefined;
  return {
    oldLogprobs,
    recordedLogprobs: recorded,
    referenceLogprobs,
    values,
    squaredProbabilities,
    importanceWeights: weightsOf(config, batch, oldLogprobs, recorded, metrics),
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
  { temperature, top_k, top_p, constrain }: Config["actor_rollout_ref"]["rollout"],
): Float64Array | undefined {
  if (temperature === 1) return batch.logprobs;
  return top_k <= 0 && top_p === 1 && !constrain ? batch.sampledLogprobs : undefined;
}

function weightsOf(
  { algorithm: { rollout_correction: correction } }: Config,
  { rows }: Batch,
  train: Float64Array | undefined,
  rollout: Float64Array | undefined,
  metrics: Metrics,
): Float64Array | undefined {
  if (correction.rollout_is === "none" || !train || !rollout) return undefined;
  const found = importanceWeights(
    { rows, trainLogprobs: train, rolloutLogprobs: rollout },
    { level: correction.rollout_is, threshold: correction.rollout_is_threshold },
  );
  for (const [name, value] of Object.entries(found.metrics))
    metrics[`rollout_corr/${name}`] = value;
  return found.weights;
}
