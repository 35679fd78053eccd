/**
 * @file Which stored episodes an iteration learns from again, and in which groups.
 *
 * First those that rescue a group: where nobody won, a stored success of the same task becomes a member, so that there is
 * something to compare. Then others by priority, up to a share of the batch. Where estimators compare the members of a
 * group, an episode can only go where its task is being played; elsewhere it may be a group of its own.
 */
import type { ReplayOptions } from "../options.ts";
import { weightedOrder } from "../weighted-order.ts";
import { priorityOf, type StoredEpisode, taskKey } from "./buffer.ts";

/** A group that was played in this iteration, on any rank. */
export interface PlayedGroup {
  readonly id: string;
  /** Of its task in the order of tasks. */
  readonly place: number;
  /** See taskKey. */
  readonly task: string;
  readonly episodes: number;
  readonly won: boolean;
  /** What its best member earned. */
  readonly best: number;
}

/** A stored episode, and where it is learned from again. */
export interface ChosenEpisode {
  readonly episode: StoredEpisode;
  readonly group: string;
  readonly place: number;
  /** The group that it goes to had nobody who won. */
  readonly isRescue: boolean;
}

/** `groups`: of all ranks, by place. The same on all of them. */
export function chooseReplays(
  stored: readonly StoredEpisode[],
  groups: readonly PlayedGroup[],
  options: ReplayOptions,
  { iteration, seed, comparesGroups }: { iteration: number; seed: number; comparesGroups: boolean },
): ChosenEpisode[] {
  const chosen: ChosenEpisode[] = [];
  const used = new Set<StoredEpisode>();
  /** In the order in which they are drawn by their priorities. */
  const drawn = (from: readonly StoredEpisode[], ...why: (string | number)[]) =>
    weightedOrder(
      Float64Array.from(from, (episode) => priorityOf(episode, iteration, options)),
      ...why,
    ).map((i) => from[i]!);
  const take = (episode: StoredEpisode, group: Omit<ChosenEpisode, "episode">) => {
    used.add(episode);
    chosen.push({ episode, ...group });
  };

  if (options.rescue)
    for (const { id, place, task, won, best } of groups) {
      if (won) continue;
      const helping = stored.filter(
        (episode) =>
          !used.has(episode) &&
          episode.reward.total > best &&
          taskKey(episode.trajectory.task) === task,
      );
      const [first] = drawn(helping, "rescue", seed, iteration, place);
      if (first) take(first, { group: id, place, isRescue: true });
    }

  const fresh = groups.reduce((sum, { episodes }) => sum + episodes, 0);
  const most = Math.floor((fresh * options.share) / (1 - options.share));
  const byTask = new Map([...groups].reverse().map((group) => [group.task, group]));
  const fitting = stored.filter(
    (episode) =>
      !used.has(episode) && (!comparesGroups || byTask.has(taskKey(episode.trajectory.task))),
  );
  const last = groups.at(-1)?.place ?? 0;
  for (const episode of drawn(fitting, "replay", seed, iteration).slice(
    0,
    Math.max(0, most - chosen.length),
  )) {
    const home = byTask.get(taskKey(episode.trajectory.task));
    take(episode, {
      group: home?.id ?? `replay-${iteration}-${chosen.length}`,
      place: home?.place ?? last + 1 + chosen.length,
      isRescue: false,
    });
  }
  return chosen;
}
