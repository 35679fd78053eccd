/**
 * @file From composed rewards to advantages: allocation to tokens, the invalid-action penalty, KL in the
 * reward, and the estimator.
 *
 * Estimators that compare over the whole batch (whitening) see the batches of all processes together.
 */
import {
  type AdvantageBatch,
  type Advantages,
  batchMetrics,
  groupMetrics,
  type KlController,
  klInReward,
  type Metrics,
  penalizeInvalidActions,
  stepReturns,
  summary,
  updateKlController,
  whitenRewards,
} from "../../algorithms/index.ts";
import { OptionError } from "../../assembly/index.ts";
import { allocateRewards, type ComposedReward, stepRewards } from "../../rewards/index.ts";
import type { Batch } from "../../rollout/index.ts";
import type { AdvantageSettings } from "../options.ts";
import { joinedBatches } from "../ranks/joined.ts";
import type { Ranks } from "../ranks/ranks.ts";

export interface AdvantageInputs {
  /** Of the batch's trajectories, in their order. */
  readonly rewards: readonly ComposedReward[];
  /** [tokens] From the critic. */
  readonly values?: Float64Array | undefined;
  /** [tokens] */
  readonly oldLogprobs?: Float64Array | undefined;
  /** [tokens] */
  readonly referenceLogprobs?: Float64Array | undefined;
  /** [tokens] */
  readonly squaredProbabilities?: Float64Array | undefined;
  /** [rows] Scores of greedy episodes of the same tasks. */
  readonly baselines?: Float64Array | undefined;
}

export interface EstimatedAdvantages {
  /** [tokens] */
  readonly advantages: Float64Array;
  /** [tokens] */
  readonly returns: Float64Array;
  /** [rows] What each row's tokens earned. */
  readonly scores: Float64Array;
  /** After this batch. */
  readonly klController: KlController;
  readonly metrics: Metrics;
}

export function estimateAdvantages(
  batch: Batch,
  inputs: AdvantageInputs,
  settings: AdvantageSettings,
  klController: KlController,
  ranks: Ranks,
): EstimatedAdvantages {
  const { rows, spans, trajectories, trajectoryOf } = batch;
  const metrics: Metrics = {};

  // What the episode earned, on its tokens.
  const scores = allocateRewards(batch, inputs.rewards, settings.allocation);
  let rewards: Float64Array = scores;
  let controller = klController;
  if (settings.klInReward) {
    const kl = klInReward(
      {
        rows,
        scores,
        oldLogprobs: inputs.oldLogprobs!,
        referenceLogprobs: inputs.referenceLogprobs!,
      },
      controller.coefficient,
      settings.klInReward.estimator,
    );
    rewards = kl.rewards;
    Object.assign(metrics, kl.metrics);
    const parts = ranks.gather({ kl: kl.kl, rows: rows.offsets.length - 1 });
    const total = parts.reduce((sum, part) => sum + part.rows, 0);
    const mean = parts.reduce((sum, part) => sum + part.kl * part.rows, 0) / Math.max(1, total);
    controller = updateKlController(controller, mean, total);
  }

  // What each step earned from there on, and what its invalid action costs.
  let returns = stepReturns(
    {
      rewards: stepRewards(batch, inputs.rewards),
      trajectories: spans.trajectory,
      order: spans.turn,
    },
    settings.gamma,
  );
  let stepScores: Float64Array | undefined;
  if (settings.invalidActionPenalty !== undefined) {
    const penalized = penalizeInvalidActions(
      { rows, spans, rewards, stepReturns: returns, valid: spans.valid },
      settings.invalidActionPenalty,
    );
    ({ rewards, stepReturns: returns, scores: stepScores } = penalized);
    metrics["episode/valid_action_ratio"] = penalized.validRatio;
  }

  const own: AdvantageBatch = {
    rows,
    rewards,
    values: inputs.values,
    groups: Array.from(trajectoryOf, (i) => trajectories[i]!.group),
    trajectories: Array.from(trajectoryOf, (i) => trajectories[i]!.id),
    order: batch.order,
    baselines: inputs.baselines,
    oldLogprobs: inputs.oldLogprobs,
    squaredProbabilities: inputs.squaredProbabilities,
    steps: {
      spans,
      anchors: spans.anchors,
      returns,
      order: spans.turn,
      scores: stepScores,
    },
  };
  const { whole: joined, ownPart } = joinedBatches(own, ranks);
  const whitened = settings.whitenRewards && whitenRewards(joined.rows, joined.rewards);
  const whole = whitened ? { ...joined, rewards: whitened } : joined;
  const estimated = settings.estimator.estimate(whole, settings.options);
  checkEstimate(settings.name, estimated, whole);
  const advantages = ownPart(estimated.advantages);
  const targets = ownPart(estimated.returns);
  Object.assign(
    metrics,
    batchMetrics({
      rows,
      scores,
      rewards: whitened ? ownPart(whitened) : rewards,
      advantages,
      returns: targets,
      values: inputs.values,
    }),
    groupMetrics(
      Float64Array.from(inputs.rewards, ({ total }) => total),
      trajectories.map(({ group }) => group),
    ),
    summary(
      "episode/length",
      trajectories.map(({ turns }) => turns.length),
    ),
  );
  return {
    advantages,
    returns: targets,
    scores: rowSums(scores, rows),
    klController: controller,
    metrics,
  };
}

function rowSums(values: Float64Array, { offsets }: Batch["rows"]): Float64Array {
  return Float64Array.from({ length: offsets.length - 1 }, (_, row) =>
    values.subarray(offsets[row]!, offsets[row + 1]!).reduce((sum, value) => sum + value, 0),
  );
}

/** An estimator may be anybody's: what it gives is looked at before it is learned from. */
function checkEstimate(name: string, estimated: Advantages, { rows }: AdvantageBatch): void {
  for (const key of ["advantages", "returns"] as const) {
    const values = estimated?.[key];
    if (values?.length !== rows.mask.length)
      throw new OptionError(
        `the advantage estimator "${name}" gave ${values?.length ?? "no"} ${key} for ` +
          `${rows.mask.length} tokens; expected one for each token`,
      );
    const wrong = values.findIndex((value, i) => rows.mask[i] === 1 && !Number.isFinite(value));
    if (wrong >= 0)
      throw new OptionError(
        `the advantage estimator "${name}" gave ${values[wrong]} among its ${key} (token ${wrong}); ` +
          "expected finite numbers",
      );
  }
}
