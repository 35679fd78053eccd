/**
 * @file GiGPO, group-in-group policy optimization: episodes compared inside their group, and steps
 * that were taken in the same state compared with each other.
 *
 *   A = A_episode + w·A_step                      on each trained token of the step; w 1
 *   A_episode = N(S) over the group               S: the episode's score
 *   A_step    = N(R) over the step group          R: discounted step returns; alone in its state: 0
 *   N(x) = x − μ  (mean_norm)   or  (x − μ)/(σ + ε)  (mean_std_norm, σ unbiased, ε 1e-6)
 *
 * episodeStatistics: "rows" counts S once per step, as verl-agent does by default, so that long
 * episodes weigh more; "trajectories" counts each episode once (by its earliest step), as the paper's
 * Eq. 3 does. A group with one value only has μ 0 and σ 1.
 *
 * Source: Feng et al. 2025, arXiv:2505.10978; verl-agent gigpo/core_gigpo.py.
 */
import { groupRows, normalizeByGroup } from "../groups.ts";
import {
  type Advantages,
  checkLength,
  checkPerRow,
  type Id,
  type Ids,
  type Numbers,
  type Rows,
  rowCount,
  scoresOf,
} from "../rows.ts";
import { equalSteps, type StepGroups, similarSteps } from "../steps/groups.ts";
import { stepsInTime } from "../steps/returns.ts";
import { broadcastSteps, checkSpans, type Spans, stepCount } from "../steps/table.ts";

/** The steps of a batch and what is known of each. */
export interface Steps {
  spans: Spans;
  /** [steps] The observation that the step answered. */
  anchors: readonly unknown[];
  /** [steps] Discounted returns, after any penalty: see `stepReturns`. */
  returns: Numbers;
  /** [steps] The place in time inside the trajectory; without it, the given order. */
  order?: ArrayLike<number> | undefined;
  /** [steps] The episode's score as this step sees it. Default: the sum of its row's rewards. */
  scores?: Numbers | undefined;
}

export interface GigpoInput {
  rows: Rows;
  /** [tokens] */
  rewards: Numbers;
  /** [rows] Which task. */
  groups: Ids;
  /** [rows] Which episode. */
  trajectories: Ids;
  steps: Steps;
}

export interface GigpoOptions {
  /** Default mean_norm, as verl-agent. */
  mode?: "mean_norm" | "mean_std_norm" | undefined;
  /** Default rows. */
  episodeStatistics?: "rows" | "trajectories" | undefined;
  /** w. Default 1. */
  stepAdvantageWeight?: number | undefined;
  /** Group steps by the similarity of their texts, at least this; default: by equality. */
  similarity?: number | undefined;
  /** Default 1e-6. */
  epsilon?: number | undefined;
}

export function gigpo(input: GigpoInput, options: GigpoOptions = {}): Advantages {
  const { stepAdvantageWeight: weight = 1, epsilon = 1e-6 } = options;
  const divide = dividesByDeviation("gigpo", options.mode ?? "mean_norm");
  const { scores, returns, groups, trajectories, groupOf } = readSteps("gigpo", input);
  const { spans, anchors, order } = input.steps;

  const counted = options.episodeStatistics === "trajectories" ? trajectories : undefined;
  const episodes = groupRows("gigpo", scores.length, groups, counted, order);
  const episode = normalizeByGroup(scores, episodes, { divide, singleton: "score", epsilon });

  const { similarity } = options;
  const states: StepGroups =
    similarity === undefined
      ? equalSteps(anchors, groupOf)
      : similarSteps({ anchors, groupOf, trajectories, order }, similarity);
  const stepGrouping = groupRows("gigpo", returns.length, states.groupOf);
  const step = normalizeByGroup(returns, stepGrouping, { divide, singleton: "zero", epsilon });

  const weighted = step.map((value) => weight * value);
  const joint = episode.map((value, i) => value + weighted[i]!);
  const onTokens = (values: Float64Array) => broadcastSteps(input.rows, spans, values);
  const advantages = onTokens(joint);
  return {
    advantages,
    returns: advantages,
    parts: { episode: onTokens(episode), step: onTokens(weighted) },
    stepGroups: states.groupOf,
  };
}

export function dividesByDeviation(who: string, mode: string): boolean {
  if (mode === "mean_std_norm") return true;
  if (mode === "mean_norm") return false;
  throw new RangeError(`${who}: unknown mode ${mode}; expected mean_norm or mean_std_norm`);
}

/** Checks the steps, and gives what is known per row for each of them. */
export function readSteps(who: string, input: GigpoInput) {
  const { rows, rewards, steps } = input;
  const rowScores = scoresOf(who, rows, rewards);
  checkLength(who, "groups", input.groups.length, rowCount(rows));
  checkLength(who, "trajectories", input.trajectories.length, rowCount(rows));
  const count = stepCount(steps.spans);
  checkSpans(who, steps.spans, rows);
  checkLength(who, "anchors", steps.anchors.length, count);
  checkPerRow(who, "the step return", steps.returns, count);
  if (steps.scores) checkPerRow(who, "the episode score", steps.scores, count);
  const groups: Id[] = [];
  const trajectories: Id[] = [];
  const scores = steps.scores ? Float64Array.from(steps.scores) : new Float64Array(count);
  for (let step = 0; step < count; step++) {
    const row = steps.spans.row[step]!;
    groups.push(input.groups[row]!);
    trajectories.push(input.trajectories[row]!);
    if (!steps.scores) scores[step] = rowScores[row]!;
  }
  return {
    scores,
    returns: new Float64Array(steps.returns),
    groups,
    trajectories,
    /** [steps] The groups, numbered. */
    groupOf: groupRows(who, count, groups, trajectories, steps.order).groupOf,
    /** Each trajectory's steps in the order of time. */
    inTime: stepsInTime(who, trajectories, steps.order),
  };
}
