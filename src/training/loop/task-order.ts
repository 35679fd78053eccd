/**
 * @file The order of training tasks: pass after pass over all of them, each pass shuffled anew. Where a
 * run stands in it is one number.
 */
import {
  EnvironmentError,
  seededRandom,
  type Task,
  type TaskSet,
} from "../../environments/index.ts";

/** Which task stands at which place. */
export interface TaskPlaces {
  /** Tasks handed out so far; a checkpoint stores it. */
  drawn: number;
  /** The index, in the task set, of the task at a place of the order; places count from 0. */
  indexAt(place: number): number;
  at(place: number): Task;
}

export interface TaskOrder extends TaskPlaces {
  next(count: number): Task[];
}

export function taskOrder(tasks: TaskSet, seed: number, shuffle: boolean): TaskOrder {
  if (tasks.length === 0)
    throw new EnvironmentError(
      tasks.environment,
      `the split "${tasks.split}" has no tasks to train on`,
    );
  let pass = -1;
  let order: readonly number[] = [];
  const indexAt = (place: number): number => {
    const wanted = Math.floor(place / tasks.length);
    if (wanted !== pass) {
      pass = wanted;
      const all = Array.from({ length: tasks.length }, (_, i) => i);
      order = shuffle ? seededRandom("task order", seed, pass).shuffled(all) : all;
    }
    return order[place % tasks.length]!;
  };
  return {
    drawn: 0,
    next(count) {
      const first = this.drawn;
      this.drawn += count;
      return Array.from({ length: count }, (_, i) => this.at(first + i));
    },
    indexAt,
    at: (place) => tasks.task(indexAt(place)),
  };
}

/** One process's share of an iteration's tasks. */
export interface DrawnTask {
  readonly task: Task;
  /** In the task set. */
  readonly index: number;
  /** In the order of tasks: by it, what all processes made of theirs is put into order. */
  readonly place: number;
  /** How often the iteration had this task before, in any process. */
  readonly earlier: number;
}

export interface TaskShare {
  /** Of so many more tasks, those of this process. */
  next(count: number): DrawnTask[];
  /** Tasks that were handed out to all processes. */
  readonly count: number;
}

/**
 * Every process takes every size-th task behind where the order stands, so that which tasks are played,
 * and under which names, does not depend on how many processes there are.
 */
export function taskShare(order: TaskPlaces, ranks: { rank: number; size: number }): TaskShare {
  const first = order.drawn;
  const seen = new Map<number, number>();
  let scanned = first;
  let count = 0;
  const earlierOf = (place: number): number => {
    for (; scanned < place; scanned++) {
      const index = order.indexAt(scanned);
      seen.set(index, (seen.get(index) ?? 0) + 1);
    }
    return seen.get(order.indexAt(place)) ?? 0;
  };
  return {
    get count() {
      return count;
    },
    next(wanted) {
      const places = Array.from({ length: wanted }, (_, i) => first + count + i);
      count += wanted;
      return places
        .filter((place) => (place - first) % ranks.size === ranks.rank)
        .map((place) => ({
          ...{ task: order.at(place), index: order.indexAt(place), place },
          earlier: earlierOf(place),
        }));
    },
  };
}

/** How many of so many things are this process's, when they are dealt out in turn. */
export function shareOf(total: number, { rank, size }: { rank: number; size: number }): number {
  return Math.max(0, Math.ceil((total - rank) / size));
}
