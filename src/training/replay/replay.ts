/**
 * @file Experience replay in an iteration: stored episodes join what was played, before anything is computed of it, so that
 * values, advantages and step groups are those of now.
 */
import type { Metrics } from "../../algorithms/index.ts";
import type { ComposedReward } from "../../rewards/index.ts";
import type { Trajectory } from "../../rollout/index.ts";
import type { IterationEpisodes } from "../loop/collect.ts";
import type { TrainingOptions } from "../options.ts";
import type { Ranks } from "../ranks/ranks.ts";
import { ageOf, type ReplayBuffer, type StoredEpisode, taskKey } from "./buffer.ts";
import { chooseReplays, type PlayedGroup } from "./choose.ts";

/** What an iteration learns from: what this rank played, and behind it what is replayed here. */
export interface LearnedEpisodes {
  readonly trajectories: readonly Trajectory[];
  /** [trajectories] */
  readonly rewards: readonly ComposedReward[];
  /** [trajectories] The place of each one's group among those of all ranks. */
  readonly places: readonly number[];
  /** How many of the trajectories are new; the others are replayed. */
  readonly fresh: number;
  readonly metrics: Metrics;
}

/** Nothing is replayed. */
export function onlyFresh(episodes: IterationEpisodes): LearnedEpisodes {
  const { trajectories, rewards, places } = episodes;
  return {
    ...{ trajectories, rewards, fresh: trajectories.length, metrics: {} },
    places: trajectories.map(({ group }) => places.get(group)!),
  };
}

export function withReplays(
  episodes: IterationEpisodes,
  buffer: ReplayBuffer,
  { options, ranks }: { options: TrainingOptions; ranks: Ranks },
  iteration: number,
): LearnedEpisodes {
  const { needs } = options.advantages.estimator;
  const plain = onlyFresh(episodes);
  const groups = ranks
    .gather(groupsOf(plain))
    .flatMap((own, rank) => own.map((group) => ({ ...group, rank })))
    .sort((a, b) => a.place - b.place);
  const chosen = chooseReplays(buffer.episodes, groups, options.replay!, {
    ...{ iteration, seed: options.seed },
    comparesGroups: needs.groups === true || needs.greedyBaseline === true,
  });
  const rankOf = new Map(groups.map(({ id, rank }) => [id, rank]));
  const own = chosen.filter(({ group }, i) => (rankOf.get(group) ?? i % ranks.size) === ranks.rank);
  const ages = chosen.map(({ episode }) => ageOf(episode.trajectory, iteration));
  const count = groups.reduce((sum, group) => sum + group.episodes, 0) + chosen.length;
  return {
    trajectories: [
      ...plain.trajectories,
      ...own.map(({ episode: { trajectory }, group }) => ({
        ...{ ...trajectory, group, id: `${trajectory.id}@${iteration}` },
      })),
    ],
    rewards: [...plain.rewards, ...own.map(({ episode }) => episode.reward)],
    places: [...plain.places, ...own.map(({ place }) => place)],
    fresh: plain.fresh,
    metrics: {
      "replay/stored": buffer.episodes.length,
      "replay/share": count === 0 ? 0 : chosen.length / count,
      "replay/failed_groups": groups.filter(({ won }) => !won).length,
      "replay/rescued_groups": chosen.filter(({ isRescue }) => isRescue).length,
      ...(ages.length > 0 && {
        "replay/age_mean": ages.reduce((sum, age) => sum + age, 0) / ages.length,
      }),
    },
  };
}

function groupsOf({ trajectories, rewards, places }: LearnedEpisodes): PlayedGroup[] {
  const groups = new Map<string, PlayedGroup>();
  for (const [i, { group: id, task, won }] of trajectories.entries()) {
    const before = groups.get(id);
    groups.set(id, {
      ...{ id, place: places[i]!, task: taskKey(task) },
      episodes: (before?.episodes ?? 0) + 1,
      won: won || before?.won === true,
      best: Math.max(rewards[i]!.total, before?.best ?? Number.NEGATIVE_INFINITY),
    });
  }
  return [...groups.values()];
}

/** Puts what all ranks played into the buffer. `advantages`: [trajectories] of what was learned from. */
export function remember(
  buffer: ReplayBuffer,
  { trajectories, rewards, places, fresh }: LearnedEpisodes,
  advantages: readonly number[],
  ranks: Ranks,
  iteration: number,
): void {
  const own = trajectories.slice(0, fresh).flatMap((trajectory, i) =>
    // What nobody would keep need not be sent.
    trajectory.won || trajectory.score > 0
      ? [{ trajectory, reward: rewards[i]!, advantage: advantages[i]!, place: places[i]! }]
      : [],
  );
  const all = ranks.gather(own).flat();
  all.sort((a, b) => a.place - b.place);
  buffer.add(
    iteration,
    all.map(
      ({ trajectory, reward, advantage }): StoredEpisode => ({ trajectory, reward, advantage }),
    ),
  );
}
