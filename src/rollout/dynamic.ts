/**
 * @file Dynamic sampling: groups whose members all did equally well teach a group-relative estimator
 * nothing; they are replaced by groups of other tasks, within a limit.
 *
 * Only what is trained on is chosen so. What is reported (`all`, `account`) has every episode that was
 * played, so a success rate is not that of the groups that happened to differ.
 */
import type { Task } from "../environments/index.ts";
import { mergeAccounts } from "./account.ts";
import type { Collection, EpisodeGroup } from "./collect.ts";
import type { Trajectory } from "./trajectory.ts";

export interface DynamicOptions {
  /** Groups wanted. */
  readonly groups: number;
  /** Rollouts at most, the first included. */
  readonly rounds: number;
  /** The next tasks of the run, in its order. */
  readonly draw: (count: number) => readonly Task[];
  /** To be given to `collect`, round included, so that a task that comes again is another group. */
  readonly collect: (tasks: readonly Task[], round: number) => Promise<Collection>;
  /** What is compared inside a group: the reward that is trained on. */
  readonly score: (trajectory: Trajectory) => number | Promise<number>;
  /** Scores that differ by less are equal. Default 0. */
  readonly tolerance?: number;
}

export interface DynamicCollection extends Collection {
  readonly rounds: number;
  /** Groups that were dropped because their members did equally well. */
  readonly dropped: number;
}

export async function collectVaried(options: DynamicOptions): Promise<DynamicCollection> {
  const { groups: wanted, rounds, tolerance = 0 } = options;
  const kept: EpisodeGroup[] = [];
  const collections: Collection[] = [];
  let dropped = 0;
  while (kept.length < wanted && collections.length < rounds) {
    const tasks = options.draw(wanted - kept.length);
    if (tasks.length === 0) break;
    const collection = await options.collect(tasks, collections.length);
    collections.push(collection);
    for (const group of collection.groups) {
      const scores = await Promise.all(group.trajectories.map(options.score));
      if (Math.max(...scores) - Math.min(...scores) > tolerance) kept.push(group);
      else dropped++;
    }
  }
  return {
    groups: kept,
    all: collections.flatMap(({ all }) => all),
    account: mergeAccounts(collections.map(({ account }) => account)),
    rounds: collections.length,
    dropped,
  };
}
