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
import { needsReference, type TrainingOptions } from "../options.ts";
import type { DealtRows } from "../ranks/deal.ts";
import { joinedTokens } from "../ranks/joined.ts";
import type { Ranks } from "../ranks/ranks.ts";
import { correctReplayed, onlyFreshRows, ratioMetrics } from "../replay/correction.ts";
import {
  batchLogprobs,
  batchSquaredProbabilities,
  computesAll,
  rowsWithoutSignal,
} from "../workers/actor.ts";
import { batchValues } from "../workers/critic.ts";
import { updatesPerEpoch } from "../workers/mini-batches.ts";
import { allRows } from "../workers/tokens.ts";
import type { Workers } from "../workers/workers.ts";
import type { Stopwatch } from "./stopwatch.ts";

/** All [tokens] of the batch. */
export interface Prepared {
  /** The batch, without the tokens that are rejected. */
  readonly batch: Batch;
  /** Undefined where the update computes them itself, or where they come after the advantages. */
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
  dealt: DealtRows,
  time: Stopwatch,
  /** Rows that are replayed: drawn by an older policy. */
  replayed: ReadonlySet<number> = NONE,
): Prepared {
  const { passes, advantages, actor } = options;
  const model = workers.actor.model;
  // All ranks take the same ones, also one whose rows had no choice to make.
  const isConstrained = ranks.any(batch.allowed.size > 0);
  const recorded = recordedLogprobs(batch, options, isConstrained);
  const squares = advantages.estimator.needs.squaredProbabilities || actor.varianceProxy;
  const metrics: Metrics = {};

  const hasReplayed = options.replay !== undefined && ranks.any(replayed.size > 0);
  const oldLogprobs =
    needsOldLogprobs({ options, dealt, recorded, hasReplayed }) === "before the advantages"
      ? time.phase("old_log_prob", () =>
          recorded && passes.trustRecorded
            ? replaced(recorded, batch, someRows(dealt), (members) =>
                batchLogprobs(model, batch, passes, members),
              )
            : batchLogprobs(model, batch, passes),
        )
      : undefined;
  let trained = batch;
  let weights: Float64Array | undefined;
  if (oldLogprobs && recorded) {
    const fresh = onlyFreshRows(batch, replayed);
    const mismatch = compared(fresh, { oldLogprobs, recorded }, passes, ranks, metrics);
    if (passes.rejection) {
      const found = rejectMismatch(mismatch, passes.rejection.options, passes.rejection.thresholds);
      const mask = withRows(mismatch.own(found.rows.mask), batch, replayed);
      trained = { ...batch, rows: { ...batch.rows, mask } };
      mismatch.rows = found.rows;
      for (const [name, value] of Object.entries(found.metrics))
        metrics[`rollout_corr/${name}`] = value;
    }
    if (passes.importance) {
      const found = importanceWeights(mismatch, passes.importance);
      weights = mismatch.own(found.weights);
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
    importanceWeights: weights,
    metrics,
  };
}

const NONE: ReadonlySet<number> = new Set();

/** A mask in which some rows have what the batch says. */
function withRows(
  mask: Uint8Array,
  { rows }: Batch,
  members: ReadonlySet<number>,
): Uint8Array<ArrayBuffer> {
  const joined = Uint8Array.from(mask);
  for (const row of members) {
    const [start, end] = [rows.offsets[row]!, rows.offsets[row + 1]!];
    joined.set(rows.mask.subarray(start, end), start);
  }
  return joined;
}

/** The same with old log-probabilities, where they had to wait for the advantages, and with those of replayed rows. */
export function withOldLogprobs(
  given: { options: TrainingOptions; workers: Workers; ranks: Ranks },
  before: Prepared,
  advantages: Float64Array,
  dealt: DealtRows,
  time: Stopwatch,
  replayed: ReadonlySet<number> = NONE,
): Prepared {
  const { options, workers, ranks } = given;
  const hasReplayed = options.replay !== undefined && ranks.any(replayed.size > 0);
  const { recordedLogprobs: recorded } = before;
  const when = needsOldLogprobs({ options, dealt, recorded, hasReplayed });
  const prepared =
    recorded && when === "after the advantages"
      ? withThoseOfSignal(given, before, advantages, dealt, time, replayed)
      : before;
  if (!hasReplayed) return prepared;
  const { batch, oldLogprobs, importanceWeights: weights } = prepared;
  const now = time.phase("old_log_prob", () =>
    batchLogprobs(workers.actor.model, batch, options.passes, [...replayed]),
  );
  const inputs = { replayed, now, recorded: recorded!, oldLogprobs: oldLogprobs! };
  return {
    ...prepared,
    ...correctReplayed(batch, { ...inputs, importanceWeights: weights }, options.replay!),
    metrics: { ...prepared.metrics, ...ratioMetrics(batch, inputs, ranks) },
  };
}

/** Rows from which nothing is to be learned keep the recorded ones, which nobody reads. */
function withThoseOfSignal(
  { options, workers, ranks }: { options: TrainingOptions; workers: Workers; ranks: Ranks },
  prepared: Prepared,
  advantages: Float64Array,
  dealt: DealtRows,
  time: Stopwatch,
  replayed: ReadonlySet<number>,
): Prepared {
  const { batch } = prepared;
  const recorded = prepared.recordedLogprobs!;
  const { offsets, mask } = batch.rows;
  const idle = rowsWithoutSignal(batch, advantages);
  // Some are always computed: what was recorded is checked in every iteration.
  const checked = new Set(someRows(dealt));
  const members = allRows(batch).filter(
    (row) => !replayed.has(row) && (!idle.has(row) || checked.has(row)),
  );
  const oldLogprobs = time.phase("old_log_prob", () =>
    replaced(recorded, batch, members, (rows) =>
      batchLogprobs(workers.actor.model, batch, options.passes, rows),
    ),
  );
  const isComputed = new Uint8Array(mask.length);
  for (const row of members)
    isComputed.set(mask.subarray(offsets[row]!, offsets[row + 1]!), offsets[row]!);
  const metrics = { ...prepared.metrics };
  const seen = { ...batch, rows: { offsets, mask: isComputed } };
  compared(seen, { oldLogprobs, recorded }, options.passes, ranks, metrics);
  return { ...prepared, oldLogprobs, metrics };
}

/**
 * When log-probabilities from before the update are computed. One update on fresh samples computes the very same
 * numbers itself, and compares them (actor.ts). Where only the updates read them, they come after the advantages, for
 * rows that have some to learn from.
 */
function needsOldLogprobs({
  options: { passes, advantages, actor },
  dealt,
  recorded,
  hasReplayed,
}: {
  options: TrainingOptions;
  dealt: DealtRows;
  recorded: Float64Array | undefined;
  hasReplayed: boolean;
}): "before the advantages" | "after the advantages" | "never" {
  const { batching } = actor;
  const { estimator } = advantages;
  const onlyUpdate = batching.epochs === 1 && updatesPerEpoch(dealt.count, batching) === 1;
  const isReadBefore =
    advantages.klInReward !== undefined ||
    passes.importance !== undefined ||
    passes.rejection !== undefined ||
    // Rows that are not drawn again are not computed by the update.
    advantages.resampling !== undefined ||
    estimator.needs.squaredProbabilities ||
    actor.varianceProxy ||
    !recorded;
  if (isReadBefore) return "before the advantages";
  // What an update computes is not what older policies said.
  if (onlyUpdate && !hasReplayed) return "never";
  // An estimator of one's own has a name, and may read what it likes.
  const mayWait = estimator.name === undefined && !computesAll(actor) && !passes.trustRecorded;
  return mayWait ? "after the advantages" : "before the advantages";
}

/** The loud check of what was recorded, and how far it is from what is computed: over the rows of all ranks. */
function compared(
  batch: Batch,
  { oldLogprobs, recorded }: { oldLogprobs: Float64Array; recorded: Float64Array },
  { logprobTolerance }: TrainingOptions["passes"],
  ranks: Ranks,
  metrics: Metrics,
) {
  const check = checkLogprobs(batch, oldLogprobs, logprobTolerance, recorded);
  metrics["training/rollout_logprob_diff_max"] = Math.max(...ranks.gather(check.largest));
  // Shares, means and weights that are divided by their mean are those of all ranks' rows.
  const joined = joinedTokens(batch.rows, ranks);
  const mismatch = {
    rows: joined.rows,
    trainLogprobs: joined.all(oldLogprobs),
    rolloutLogprobs: joined.all(recorded),
    own: joined.own,
  };
  Object.assign(metrics, probabilityDifferences(mismatch));
  for (const [name, value] of Object.entries(offPolicyMetrics(mismatch)))
    metrics[`rollout_corr/${name}`] = value;
  return mismatch;
}

/** So many rows, at least, are computed anew where recorded log-probabilities are taken. */
const SAMPLED_ROWS = 4;

/** Rows of this rank among some that are spread evenly over those of all. */
function someRows({ own, count }: DealtRows): number[] {
  const stride = Math.max(1, Math.floor(count / SAMPLED_ROWS));
  return own.flatMap((number, row) => (number % stride === 0 ? [row] : []));
}

/** The recorded log-probabilities, but for some rows, which are computed: the check compares those. */
function replaced(
  recorded: Float64Array,
  { rows: { offsets } }: Batch,
  members: readonly number[],
  compute: (members: readonly number[]) => Float64Array,
): Float64Array {
  const computed = compute(members);
  const result = recorded.slice();
  for (const row of members)
    result.set(computed.subarray(offsets[row]!, offsets[row + 1]!), offsets[row]!);
  return result;
}

/**
 * The recorded log-probabilities of the distribution that is trained: the model's at the rollout's
 * temperature, among the actions that could be drawn. With top-k or top-p they are of another distribution,
 * unless the temperature is 1 and everything could be drawn.
 */
function recordedLogprobs(
  batch: Batch,
  { rollout: { sampling, served } }: TrainingOptions,
  isConstrained: boolean,
): Float64Array | undefined {
  const { temperature, topK, topP } = sampling;
  if (temperature === 1 && !isConstrained) return batch.logprobs;
  // Servers tell those of the model itself.
  if (served) return undefined;
  return topK === 0 && topP === 1 ? batch.sampledLogprobs : undefined;
}
