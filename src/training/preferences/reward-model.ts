/**
 * @file Reward models: a policy's backbone with one number as its output. It learns which of two answers is better
 * (Bradley–Terry), whether an episode is won (outcome), or how likely that is after each turn (steps).
 */
import { createHash } from "node:crypto";
import { addMetrics, labelledLoss, rewardModelLoss } from "../../algorithms/index.ts";
import { byTokenBudget, type Model } from "../../models/index.ts";
import { lastScored, type ScoredRow, scoredRows, scoresOf } from "../../rewards/index.ts";
import { isTrainable, type SearchFindings, type Trajectory } from "../../rollout/index.ts";
import { backward, fromTypedArray, type Tensor, tidy } from "../../torch/index.ts";
import { fingerprintOfExamples } from "../sft/fingerprints.ts";
import { passTokens } from "../workers/pass-tokens.ts";
import type { TokenRow } from "../workers/tokens.ts";
import { resultOf } from "../groups.ts";
import type { Objective } from "./learn.ts";
import type { Pair } from "./pairs.ts";
import type { PassChoices } from "./passes.ts";

/** Something whose scores are known. */
export interface LabelledItem {
  readonly task: string;
  readonly rows: readonly ScoredRow[];
  /** [places] 0 to 1. */
  readonly labels: readonly number[];
}

/** Two answers, of which the first should have the higher score, by a margin. */
export interface ScoredPair {
  readonly task: string;
  /** Of the chosen one, then of the rejected one; a place each. */
  readonly rows: readonly ScoredRow[];
  readonly margin: number;
}

/** The score of an answer is that of its last token. `margins`: by which it should be higher, else by any. */
export function scoredPair({ task, chosen, rejected, margin }: Pair, margins: boolean): ScoredPair {
  return {
    ...{ task, rows: [endOf(chosen), endOf(rejected)] },
    margin: margins ? margin : 0,
  };
}

function endOf(rows: readonly TokenRow[]): ScoredRow {
  const { ids, mask } = rows.at(-1)!;
  const last = mask.lastIndexOf(1);
  return { ids: ids.subarray(0, last + 1), places: [last] };
}

/** Whether they are won, at their end. */
export function outcomesOf(episodes: Iterable<Trajectory>): LabelledItem[] {
  return [...episodes].filter(isTrainable).map((episode) => ({
    task: episode.task.id,
    rows: lastScored(episode),
    labels: [episode.won ? 1 : 0],
  }));
}

/** The same of pairs: what was chosen is right, what was rejected is not. */
export function outcomesOfPairs(pairs: readonly Pair[]): LabelledItem[] {
  return pairs.flatMap(({ task, chosen, rejected }) => [
    { task, rows: [endOf(chosen)], labels: [1] },
    { task, rows: [endOf(rejected)], labels: [0] },
  ]);
}

/** After each turn: what the episode came to, less by `discount` for every turn that was still to come. */
export function stepsOf(episodes: Iterable<Trajectory>, discount: number): LabelledItem[] {
  return [...episodes].filter(isTrainable).map((episode) => ({
    task: episode.task.id,
    rows: scoredRows(episode),
    labels: episode.turns.map(
      (_, turn) => resultOf(episode) * discount ** (episode.turns.length - 1 - turn),
    ),
  }));
}

/** What states came to in a search, on average. */
export function valuesOfFindings(findings: readonly SearchFindings[]): LabelledItem[] {
  return findings.flatMap(({ task, context, values }) =>
    values.map(({ turns, value }) => ({
      task,
      rows: lastScored({ context, turns }),
      labels: [value],
    })),
  );
}

/** `centering`: keeps scores around 0. */
export function preferenceObjective(
  model: Model,
  settings: PassChoices & { readonly centering: number },
): Objective<ScoredPair> {
  return scoringObjective(model, settings, (scores, pairs, count) => {
    const both = scores.reshape([pairs.length, 2]);
    return rewardModelLoss(
      {
        ...{ chosen: both.select(1, 0), rejected: both.select(1, 1), pairs: count },
        margins: numbers(
          pairs.map(({ margin }) => margin),
          scores,
        ),
      },
      { centeringCoefficient: settings.centering },
    );
  });
}

export function labelledObjective(model: Model, settings: PassChoices): Objective<LabelledItem> {
  return scoringObjective(model, settings, (scores, items, count) => {
    const labels = items.flatMap((item) => item.labels);
    const shares = items.flatMap((item) => item.labels.map(() => 1 / item.labels.length / count));
    return labelledLoss({
      scores,
      labels: numbers(labels, scores),
      shares: numbers(shares, scores),
    });
  });
}

function scoringObjective<Item extends { readonly rows: readonly ScoredRow[] }>(
  model: Model,
  { tokensPerPass, checkpointing = false }: PassChoices,
  lossOf: (
    scores: Tensor,
    items: readonly Item[],
    count: number,
  ) => { loss: Tensor; metrics: Record<string, number> },
): Objective<Item> {
  const budget = tokensPerPass ?? passTokens(model.config, checkpointing);
  return {
    name: "reward-model",
    model,
    compute(items, count, learn) {
      const lengths = items.map(({ rows }) => rows.reduce((sum, { ids }) => sum + ids.length, 0));
      return addMetrics(
        byTokenBudget(lengths, budget).map((members) =>
          tidy(() => {
            const own = members.map((i) => items[i]!);
            const scores = scoresOf(
              model,
              own.flatMap(({ rows }) => rows),
              { layersPerSegment: learn && checkpointing ? 1 : 0 },
            );
            const { loss, metrics } = lossOf(scores, own, count);
            if (learn) backward(loss);
            return { loss: loss.item(), ...metrics };
          }),
        ),
      );
    },
  };
}

function numbers(values: readonly number[], { dtype, device }: Tensor): Tensor {
  return fromTypedArray(Float64Array.from(values), undefined, { dtype, device });
}

/** By which one set of items is told from another. */
export function fingerprintOfScored(items: readonly (LabelledItem | ScoredPair)[]): string {
  const wanted = items.map((item) => ("labels" in item ? item.labels : item.margin));
  const rows = items.flatMap((item) =>
    item.rows.map(({ ids, places }) => ({
      ids,
      mask: new Uint8Array(Int32Array.from(places).buffer),
    })),
  );
  return createHash("sha256")
    .update(fingerprintOfExamples(rows))
    .update(JSON.stringify(wanted))
    .digest("hex");
}
