/**
 * @file The order of training tasks: pass after pass over all of them, each pass shuffled anew. Where a
 * run stands in it is one number.
 */
import { seededRandom, type Task, type TaskSet } from "../environments/index.ts";

export interface TaskOrder {
  /** Tasks handed out so far; a checkpoint stores it. */
  drawn: number;
  next(count: number): Task[];
}

export function taskOrder(tasks: TaskSet, seed: number, shuffle: boolean): TaskOrder {
  if (tasks.length === 0)
    throw new Error(`${tasks.environment}: the split "${tasks.split}" has no tasks to train on`);
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
      return Array.from({ length: count }, (_, i) => tasks.task(indexAt(first + i)));
    },
  };
}
