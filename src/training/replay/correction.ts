/**
 * @file Replayed tokens were drawn by an older policy. What it said of them is recorded, so the ratio to the policy of now is
 * known exactly:
 *
 *   ppo        old log-probability = the recorded one: the loss's own ratio, and its clip, are against the old policy
 *   truncated  old log-probability = that of now, and each token's loss is weighted by min(π_now / π_recorded, threshold)
 */
import type { Metrics } from "../../algorithms/index.ts";
import type { Batch } from "../../rollout/index.ts";
import type { ReplayOptions } from "../options.ts";
import type { Ranks } from "../ranks/ranks.ts";

/** All [tokens] of the batch. */
export interface Corrected {
  readonly oldLogprobs: Float64Array;
  readonly importanceWeights: Float64Array | undefined;
}

export interface CorrectionInputs {
  /** Rows of the batch that are replayed. */
  readonly replayed: ReadonlySet<number>;
  /** [tokens] Of the policy of now, at least on replayed rows. */
  readonly now: Float64Array;
  readonly recorded: Float64Array;
  /** [tokens] Of the rows that were played now. */
  readonly oldLogprobs: Float64Array;
  readonly importanceWeights: Float64Array | undefined;
}

export function correctReplayed(
  batch: Batch,
  { replayed, now, recorded, ...fresh }: CorrectionInputs,
  { correction, threshold }: Pick<ReplayOptions, "correction" | "threshold">,
): Corrected {
  const oldLogprobs = fresh.oldLogprobs.slice();
  const weights =
    correction === "truncated" || fresh.importanceWeights
      ? (fresh.importanceWeights?.slice() ?? new Float64Array(oldLogprobs.length).fill(1))
      : undefined;
  for (const token of replayedTokens(batch, replayed)) {
    oldLogprobs[token] = correction === "ppo" ? recorded[token]! : now[token]!;
    if (weights)
      weights[token] =
        correction === "ppo" ? 1 : Math.min(threshold, Math.exp(now[token]! - recorded[token]!));
  }
  return { oldLogprobs, importanceWeights: weights };
}

/** How far the policy has moved since: over the replayed tokens of all ranks. */
export function ratioMetrics(
  batch: Batch,
  { replayed, now, recorded }: Pick<CorrectionInputs, "replayed" | "now" | "recorded">,
  ranks: Ranks,
): Metrics {
  let [ratios, tokens] = [0, 0];
  for (const token of replayedTokens(batch, replayed)) {
    ratios += Math.exp(now[token]! - recorded[token]!);
    tokens++;
  }
  const [sum = 0, count = 0] = ranks.sum([ratios, tokens]);
  return count === 0 ? {} : { "replay/ratio_mean": sum / count };
}

function* replayedTokens(
  { rows: { offsets, mask } }: Batch,
  replayed: ReadonlySet<number>,
): Generator<number> {
  for (const row of replayed)
    for (let token = offsets[row]!; token < offsets[row + 1]!; token++)
      if (mask[token] === 1) yield token;
}

/** The batch without its replayed rows: their mask is 0. */
export function onlyFreshRows(batch: Batch, replayed: ReadonlySet<number>): Batch {
  if (replayed.size === 0) return batch;
  const { offsets } = batch.rows;
  const mask = batch.rows.mask.slice();
  for (const row of replayed) mask.fill(0, offsets[row]!, offsets[row + 1]!);
  return { ...batch, rows: { offsets, mask } };
}
