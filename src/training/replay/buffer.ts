/**
 * @file The replay buffer: episodes that went well, with what they earned and what the policy said of their tokens when it
 * drew them. All ranks have the same one; it is part of a checkpoint.
 */
import type { Task } from "../../environments/index.ts";
import type { ComposedReward } from "../../rewards/index.ts";
import type { Trajectory } from "../../rollout/index.ts";
import type { ReplayOptions } from "../options.ts";

export interface StoredEpisode {
  /** As it was played: its iteration is `step`. */
  readonly trajectory: Trajectory;
  readonly reward: ComposedReward;
  /** Mean over its tokens, when it was new. */
  readonly advantage: number;
}

export interface ReplayBuffer {
  /** Those that are kept, the newest last. */
  readonly episodes: readonly StoredEpisode[];
  /** Adds an iteration's episodes that are good enough, in their order; lets go of what is too old or too much. */
  add(iteration: number, episodes: readonly StoredEpisode[]): void;
}

/** The least by which an advantage counts: an episode of a group that all won has none. */
const LEAST_PRIORITY = 0.05;

/** How much rather than others it is taken, and kept. */
export function priorityOf(
  { trajectory, reward, advantage }: StoredEpisode,
  iteration: number,
  { priority, halfLife }: Pick<ReplayOptions, "priority" | "halfLife">,
): number {
  const value = priority === "advantage" ? advantage : reward.total;
  const recency = halfLife === undefined ? 1 : 0.5 ** (ageOf(trajectory, iteration) / halfLife);
  return Math.max(LEAST_PRIORITY, value) * recency;
}

/** Iterations since it was played. */
export function ageOf({ step }: Pick<Trajectory, "step">, iteration: number): number {
  return iteration - step;
}

/** What two episodes of one problem have in common. */
export function taskKey({ environment, split, id }: Task): string {
  return JSON.stringify([environment, split, id]);
}

/** `stored`: what a checkpoint had. */
export function openReplay(
  options: ReplayOptions,
  stored: readonly StoredEpisode[] = [],
): ReplayBuffer {
  let episodes = [...stored];
  return {
    get episodes() {
      return episodes;
    },
    add(iteration, added) {
      const good = added.filter(
        ({ trajectory: { won, score } }) => won || score >= options.minimumScore,
      );
      // Whatever is taken next is taken by an iteration that is one later.
      const young = [...episodes, ...good].filter(
        ({ trajectory }) => ageOf(trajectory, iteration + 1) <= options.maximumAge,
      );
      episodes = best(young, iteration, options);
    },
  };
}

/** The best of each task, and of those the best of all, in the order in which they came. */
function best(
  episodes: readonly StoredEpisode[],
  iteration: number,
  options: ReplayOptions,
): StoredEpisode[] {
  const ranked = episodes
    .map((episode, place) => ({
      ...{ episode, place, priority: priorityOf(episode, iteration, options) },
    }))
    .sort((a, b) => b.priority - a.priority || b.place - a.place);
  const ofTask = new Map<string, number>();
  const kept = ranked.filter(({ episode }) => {
    const task = taskKey(episode.trajectory.task);
    const count = (ofTask.get(task) ?? 0) + 1;
    ofTask.set(task, count);
    return count <= options.perTask;
  });
  return kept
    .slice(0, options.capacity)
    .sort((a, b) => a.place - b.place)
    .map(({ episode }) => episode);
}
