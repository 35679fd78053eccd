/**
 * @file What an iteration does with the episodes and rows of all ranks, so that it is what one process would do.
 */
import {
  type Metrics,
  resampleRows,
  resampleWeights,
  varianceProxyMetrics,
} from "../../algorithms/index.ts";
import type { TrajectoryStore } from "../../rollout/index.ts";
import { derivedGenerator } from "../../torch/index.ts";
import type { TrainingOptions } from "../options.ts";
import type { DealtRows } from "../ranks/deal.ts";
import { joinedTokens } from "../ranks/joined.ts";
import type { Ranks } from "../ranks/ranks.ts";
import type { IterationEpisodes } from "./collect.ts";
import type { Prepared } from "./prepare.ts";

/** Rank 0 stores what all have played, in the order in which one process would. */
export function storeEpisodes(
  { all, places }: Pick<IterationEpisodes, "all" | "places">,
  ranks: Ranks,
  store: TrajectoryStore | undefined,
): void {
  const found = ranks
    .toFirst(all.map((trajectory) => ({ trajectory, place: places.get(trajectory.group)! })))
    .flat();
  if (ranks.size > 1) found.sort((a, b) => a.place - b.place);
  for (const { trajectory } of found) store?.append(trajectory);
}

/** Over the rows of all ranks. */
export function varianceProxy(
  { batch, oldLogprobs, squaredProbabilities, importanceWeights }: Prepared,
  advantages: Float64Array,
  gradientNorm: number | undefined,
  ranks: Ranks,
): Metrics {
  const { rows, all } = joinedTokens(batch.rows, ranks);
  return varianceProxyMetrics({
    rows,
    advantages: all(advantages),
    oldLogprobs: all(oldLogprobs!),
    squaredProbabilities: all(squaredProbabilities!),
    importanceWeights: importanceWeights && all(importanceWeights),
    gradientNorm,
  });
}

/** PF-PPO: rows of all ranks drawn again by their scores. Undefined: each row once. */
export function resampled(
  { advantages: { resampling }, seed }: TrainingOptions,
  scores: Float64Array,
  iteration: number,
  dealt: DealtRows,
): readonly number[] | undefined {
  if (!resampling) return undefined;
  const generator = derivedGenerator(seed, "resampling", iteration, 0);
  try {
    const all = Float64Array.from(dealt.all([...scores]));
    const weights = resampleWeights(all, resampling.method, resampling.power);
    return [...resampleRows(weights, generator)];
  } finally {
    generator.dispose();
  }
}
