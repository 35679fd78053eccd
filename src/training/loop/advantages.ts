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
import { joinedBatches, joinedTokens } from "../ranks/joined.ts";
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
  /** [tokens] What the estimator was given. */
  readonly rewards: Float64Array;
  /** What the advantages are the sum of, where the estimator says it, each [tokens]. */
  readonly parts: Readonly<Record<string, Float64Array>>;
  /** The agent's spans: what each earned from there on, and with whom it was compared. */
  readonly steps: { readonly returns: Float64Array; readonly groups: Int32Array | undefined };
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
  const joinedRows = joinedTokens(rows, ranks);
  const scores = allocateRewards(batch, inputs.rewards, settings.allocation);
  const allScores = joinedRows.all(scores);
  let rewards: Float64Array = scores;
  let controller = klController;
  if (settings.klInReward) {
    const kl = klInReward(
      {
        rows: joinedRows.rows,
        scores: allScores,
        oldLogprobs: joinedRows.all(inputs.oldLogprobs!),
        referenceLogprobs: joinedRows.all(inputs.referenceLogprobs!),
      },
      controller.coefficient,
      settings.klInReward.estimator,
    );
    rewards = joinedRows.own(kl.rewards);
    Object.assign(metrics, kl.metrics);
    controller = updateKlController(controller, kl.kl, joinedRows.rows.offsets.length - 1);
  }

  // What each step earned from there on, and what its invalid action costs.
  let returns = stepReturns(
    {
      rewards: stepRewards(batch, inputs.rewards),
      // Inside an episode; where it is a program with branches, inside each of them.
      trajectories: Array.from(spans.trajectory, (trajectory, i) => {
        const branch = trajectories[trajectory]!.turns[spans.turn[i]!]!.branch ?? 0;
        return `${trajectory}/${branch}`;
      }),
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
    const steps = spans.row.length;
    const [valid = 0, all = 0] = ranks.sum([penalized.validRatio * steps, steps]);
    metrics["episode/valid_action_ratio"] = all === 0 ? 1 : valid / all;
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
  const { whole: joined, ownPart, ownSteps } = joinedBatches(own, ranks);
  const whitened = settings.whitenRewards && whitenRewards(joined.rows, joined.rewards);
  const whole = whitened ? { ...joined, rewards: whitened } : joined;
  const estimated = settings.estimator.estimate(whole, settings.options);
  checkEstimate(settings.name, estimated, whole);
  const advantages = ownPart(estimated.advantages);
  const targets = ownPart(estimated.returns);
  const episodes = ranks
    .gather(
      trajectories.map(({ group, turns }, i) => ({
        ...{ group, turns: turns.length, total: inputs.rewards[i]!.total },
      })),
    )
    .flat();
  Object.assign(
    metrics,
    batchMetrics({
      rows: whole.rows,
      scores: allScores,
      rewards: whole.rewards,
      advantages: estimated.advantages,
      returns: estimated.returns,
      values: whole.values,
    }),
    groupMetrics(
      Float64Array.from(episodes, ({ total }) => total),
      episodes.map(({ group }) => group),
    ),
    summary(
      "episode/length",
      episodes.map(({ turns }) => turns),
    ),
  );
  return {
    advantages,
    returns: targets,
    scores: rowSums(scores, rows),
    rewards: whitened ? ownPart(whitened) : rewards,
    parts: Object.fromEntries(
      Object.entries(estimated.parts ?? {}).map(([name, values]) => [name, ownPart(values)]),
    ),
    steps: {
      returns: Float64Array.from(returns),
      groups: estimated.stepGroups && ownSteps(estimated.stepGroups),
    },
    klController: controller,
    metrics,
  };
}

/** [trajectories] Over the trained tokens of each. */
export function meanAdvantages(
  { rows: { offsets, mask }, trajectoryOf, trajectories }: Batch,
  { advantages }: Pick<EstimatedAdvantages, "advantages">,
): number[] {
  const sums = trajectories.map(() => ({ sum: 0, tokens: 0 }));
  for (const [row, i] of trajectoryOf.entries())
    for (let token = offsets[row]!; token < offsets[row + 1]!; token++)
      if (mask[token] === 1) {
        sums[i]!.sum += advantages[token]!;
        sums[i]!.tokens++;
      }
  return sums.map(({ sum, tokens }) => (tokens === 0 ? 0 : sum / tokens));
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
