/**
 * @file What an iteration's episodes were like, and how fast it was, with the specification's names.
 */
import { type Metrics, moments, summary } from "../../algorithms/index.ts";
import { isOfKind, kindsOf } from "../../evaluation/index.ts";
import type { ComposedReward } from "../../rewards/index.ts";
import {
  type Batch,
  isTrainable,
  isWellFormed,
  type RolloutAccount,
  type Trajectory,
} from "../../rollout/index.ts";
import { type Device, type DeviceCopies, deviceCopies } from "../../torch/index.ts";
import type { IterationEpisodes } from "./collect.ts";

/** What the metrics need of an episode: ranks send it to each other instead of the episode. */
export interface EpisodeSummary {
  readonly won: boolean;
  readonly reward: number;
  readonly type: string | undefined;
  readonly usesTools: boolean;
  readonly toolCalls: number;
  /** [turns] Tokens of the replies. */
  readonly replies: readonly number[];
  readonly wellFormed: number;
  /** Replies that reached the largest length. */
  readonly clipped: number;
  /** Turns whose action the world takes: it was read, and is none that the world calls inadmissible. */
  readonly taken: number;
  /** Replies that end by saying the same again and again. */
  readonly looping: number;
  /** Ended because the context was full. */
  readonly cut: boolean;
  readonly group: string;
  /** The composed reward; undefined: it is not trained on. */
  readonly total: number | undefined;
}

/** Of the episodes that count, also those that are not trained on. */
export function episodeSummaries(all: readonly Trajectory[]): EpisodeSummary[] {
  return all.filter(isTrainable).map(({ won, reward, task, format, turns, ...rest }) => ({
    won,
    reward,
    group: rest.group,
    total: rest.rewards && Object.values(rest.rewards).reduce((sum, one) => sum + one, 0),
    cut: rest.status === "context full" || rest.status === "token limit",
    type: task.type,
    usesTools: format === "tools",
    toolCalls: turns.filter(({ tool }) => tool).length,
    replies: turns.map(({ reply }) => reply.ids.length),
    wellFormed: turns.filter(isWellFormed).length,
    clipped: turns.filter(({ reply }) => reply.finish === "length").length,
    taken: turns.filter(({ action, admissible }) => action !== null && admissible !== false).length,
    looping: turns.filter(({ reply }) => endsInLoop(reply.ids)).length,
  }));
}

/** A loop repeats at most so many tokens, at least so often, and is at least half of the reply. */
const LONGEST_LOOP = 16;
const REPEATS = 4;
/** Shorter ones may be how the world wants it. */
const LEAST_LOOP_TOKENS = 16;

/** Whether a reply ends by saying the same again and again; its very last token may be the end's. */
export function endsInLoop(ids: readonly number[]): boolean {
  for (const end of [ids.length, ids.length - 1])
    for (let period = 1; period <= LONGEST_LOOP; period++) {
      let same = 0;
      while (same + period < end && ids[end - 1 - same] === ids[end - 1 - same - period]) same++;
      const looped = same + period;
      if (looped >= Math.max(LEAST_LOOP_TOKENS, REPEATS * period) && 2 * looped >= end) return true;
    }
  return false;
}

/**
 * Groups of which some episodes were won and some not, and whose rewards differ: how many, and in which share of them those
 * that were won got the larger reward. In a reward that follows success it is all of them.
 */
function rewardFollowsSuccess(played: readonly EpisodeSummary[]): Metrics {
  const groups = new Map<string, EpisodeSummary[]>();
  for (const one of played)
    if (one.total !== undefined) groups.set(one.group, [...(groups.get(one.group) ?? []), one]);
  const mean = (some: readonly EpisodeSummary[]) =>
    some.reduce((sum, { total }) => sum + total!, 0) / some.length;
  let [mixed, follows] = [0, 0];
  for (const members of groups.values()) {
    const won = members.filter((one) => one.won);
    const lost = members.filter((one) => !one.won);
    if (won.length === 0 || lost.length === 0 || mean(won) === mean(lost)) continue;
    mixed++;
    if (mean(won) > mean(lost)) follows++;
  }
  return {
    "group/mixed": mixed,
    ...(mixed > 0 && { "group/won_above_lost": follows / mixed }),
  };
}

/** Of all ranks' episodes. */
export function episodeMetrics(played: readonly EpisodeSummary[]): Metrics {
  if (played.length === 0) return {};
  const rate = (some: readonly EpisodeSummary[]) =>
    some.filter(({ won }) => won).length / some.length;
  const total = (value: (one: EpisodeSummary) => number) =>
    played.reduce((sum, one) => sum + value(one), 0);
  const turns = Math.max(
    1,
    total(({ replies }) => replies.length),
  );
  const metrics: Metrics = {
    "episode/count": played.length,
    "episode/success_rate": rate(played),
    ...summary(
      "episode/reward",
      played.map(({ reward }) => reward),
    ),
    ...summary(
      "episode/length",
      played.map(({ replies }) => replies.length),
    ),
    ...summary(
      "response_length",
      played.flatMap(({ replies }) => replies),
    ),
    "episode/well_formed_ratio": total(({ wellFormed }) => wellFormed) / turns,
    "episode/taken_action_ratio": total(({ taken }) => taken) / turns,
    "episode/context_full_ratio": played.filter(({ cut }) => cut).length / played.length,
    "response_length/clip_ratio": total(({ clipped }) => clipped) / turns,
    "response_length/loop_ratio": total(({ looping }) => looping) / turns,
    ...rewardFollowsSuccess(played),
  };
  if (played.some(({ usesTools }) => usesTools))
    Object.assign(
      metrics,
      summary(
        "episode/tool_call_count",
        played.map(({ toolCalls }) => toolCalls),
      ),
    );
  for (const kind of kindsOf(played.map(({ type }) => type)))
    metrics[`episode/${kind}_success_rate`] = rate(
      played.filter(({ type }) => isOfKind(type, kind)),
    );
  return metrics;
}

/**
 * What each component gave, weighted: mean and deviation over the episodes that are trained on, of all ranks; and how many
 * episodes are left out because it failed.
 */
export function rewardMetrics(
  breakdowns: readonly ComposedReward["breakdown"][],
  failed: readonly string[] = [],
): Metrics {
  const names = [...new Set(breakdowns.flatMap((breakdown) => Object.keys(breakdown)))];
  const metrics: Metrics = {};
  for (const name of names) {
    const { mean, variance } = moments(breakdowns.map((breakdown) => breakdown[name] ?? 0));
    metrics[`rewards/${name}`] = mean;
    metrics[`rewards/${name}/std`] = Math.sqrt(variance);
  }
  for (const name of failed)
    metrics[`rewards/${name}/failed`] = (metrics[`rewards/${name}/failed`] ?? 0) + 1;
  return metrics;
}

/** What a rank did in an iteration, and how long each of its phases took. */
export interface RankFigures {
  readonly tokens: number;
  readonly generation: IterationEpisodes["generation"];
  readonly memoryGb: number;
  /** Between host and device; undefined: there is no other than the CPU. */
  readonly copies: DeviceCopies | undefined;
  readonly timings: Metrics;
}

export function rankFigures(
  { generation }: IterationEpisodes,
  batch: Batch,
  timings: Metrics,
  copies: DeviceCopies | undefined,
): RankFigures {
  const memoryGb = process.memoryUsage.rss() / 2 ** 30;
  return { tokens: batch.ids.length, generation, memoryGb, copies, timings };
}

/** What was copied since an earlier count; undefined where tensors are on the CPU. */
export function copiesSince(device: Device, before: DeviceCopies): DeviceCopies | undefined {
  if (device === "cpu") return undefined;
  const now = deviceCopies();
  return {
    toDevice: now.toDevice - before.toDevice,
    toHost: now.toHost - before.toHost,
    bytesToDevice: now.bytesToDevice - before.bytesToDevice,
    bytesToHost: now.bytesToHost - before.bytesToHost,
  };
}

/** How often the host waited for a device or sent it something, and how much that was. */
function copyMetrics(ranks: readonly RankFigures[]): Metrics {
  const all = ranks.flatMap(({ copies }) => copies ?? []);
  if (all.length === 0) return {};
  const sum = (value: (copies: DeviceCopies) => number) =>
    all.reduce((total, copies) => total + value(copies), 0);
  return {
    "perf/copies_to_device": sum(({ toDevice }) => toDevice),
    "perf/copies_to_host": sum(({ toHost }) => toHost),
    "perf/megabytes_to_device": sum(({ bytesToDevice }) => bytesToDevice) / 1e6,
    "perf/megabytes_to_host": sum(({ bytesToHost }) => bytesToHost) / 1e6,
  };
}

/**
 * Wall-clock figures: they differ from run to run, and only under timing_s/ and perf/. Of several ranks, tokens and
 * memory are sums; times are those of the slowest, for which the others wait.
 */
export function throughputMetrics(account: RolloutAccount, ranks: readonly RankFigures[]): Metrics {
  const timings: Metrics = {};
  for (const { timings: own } of ranks)
    for (const [name, value] of Object.entries(own))
      timings[name] = Math.max(timings[name] ?? 0, value);
  const sum = (value: (rank: RankFigures) => number) =>
    ranks.reduce((total, rank) => total + value(rank), 0);
  const tokens = sum((rank) => rank.tokens);
  const seconds = timings["timing_s/step"]!;
  const update = timings["timing_s/update_actor"];
  return {
    ...timings,
    "perf/total_num_tokens": tokens,
    "perf/time_per_step": seconds,
    "perf/throughput": tokens / seconds,
    "perf/sampled_tokens_per_second": account.sampledTokens / timings["timing_s/gen"]!,
    "perf/generation_computed_tokens": sum(({ generation }) => generation.computedTokens),
    "perf/generation_guessed_tokens": sum(({ generation }) => generation.guessedTokens),
    "perf/generation_accepted_tokens": sum(({ generation }) => generation.acceptedTokens),
    "timing_s/agent_loop/generate_sequences": Math.max(
      ...ranks.map(({ generation }) => generation.seconds),
    ),
    "perf/turns_per_second": account.turns / timings["timing_s/gen"]!,
    ...(update && { "perf/update_tokens_per_second": tokens / update }),
    "perf/cpu_memory_used_gb": sum(({ memoryGb }) => memoryGb),
    ...copyMetrics(ranks),
  };
}
