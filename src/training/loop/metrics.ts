/**
 * @file What an iteration's episodes were like, and how fast it was, with the specification's names.
 */
import { type Metrics, summary } from "../../algorithms/index.ts";
import type { ComposedReward } from "../../rewards/index.ts";
import { type Batch, isTrainable, isWellFormed, type Trajectory } from "../../rollout/index.ts";
import type { IterationEpisodes } from "./collect.ts";

/** Of all episodes that were played, also those that are not trained on. */
export function episodeMetrics(all: readonly Trajectory[]): Metrics {
  const played = all.filter(isTrainable);
  if (played.length === 0) return {};
  const rate = (some: readonly Trajectory[]) => some.filter(({ won }) => won).length / some.length;
  const turns = played.flatMap((trajectory) => trajectory.turns);
  const types = [...new Set(played.flatMap(({ task }) => task.type ?? []))].sort();
  const metrics: Metrics = {
    "episode/success_rate": rate(played),
    ...summary(
      "episode/reward",
      played.map(({ reward }) => reward),
    ),
    ...summary(
      "episode/length",
      played.map((trajectory) => trajectory.turns.length),
    ),
    ...summary(
      "response_length",
      turns.map(({ reply }) => reply.ids.length),
    ),
    "episode/well_formed_ratio": turns.filter(isWellFormed).length / Math.max(1, turns.length),
    "response_length/clip_ratio":
      turns.filter(({ reply }) => reply.finish === "length").length / Math.max(1, turns.length),
  };
  if (played.some(({ format }) => format === "tools"))
    Object.assign(
      metrics,
      summary(
        "episode/tool_call_count",
        played.map((trajectory) => trajectory.turns.filter(({ tool }) => tool).length),
      ),
    );
  for (const type of types)
    metrics[`episode/${type}_success_rate`] = rate(played.filter(({ task }) => task.type === type));
  return metrics;
}

/** What each component gave, weighted: means over the episodes that are trained on. */
export function rewardMetrics(rewards: readonly ComposedReward[]): Metrics {
  const names = [...new Set(rewards.flatMap(({ breakdown }) => Object.keys(breakdown)))];
  const mean = (name: string) =>
    rewards.reduce((sum, { breakdown }) => sum + (breakdown[name] ?? 0), 0) / rewards.length;
  return Object.fromEntries(names.map((name) => [`rewards/${name}`, mean(name)]));
}

/** Wall-clock figures: they differ from run to run, and only under timing_s/ and perf/. */
export function throughputMetrics(
  { account, generation }: IterationEpisodes,
  batch: Batch,
  timings: Metrics,
): Metrics {
  const seconds = timings["timing_s/step"]!;
  const update = timings["timing_s/update_actor"];
  return {
    "perf/total_num_tokens": batch.ids.length,
    "perf/time_per_step": seconds,
    "perf/throughput": batch.ids.length / seconds,
    "perf/sampled_tokens_per_second": account.sampledTokens / timings["timing_s/gen"]!,
    "perf/generation_computed_tokens": generation.computedTokens,
    "timing_s/agent_loop/generate_sequences": generation.seconds,
    "perf/turns_per_second": account.turns / timings["timing_s/gen"]!,
    ...(update && { "perf/update_tokens_per_second": batch.ids.length / update }),
    "perf/cpu_memory_used_gb": process.memoryUsage.rss() / 2 ** 30,
  };
}
