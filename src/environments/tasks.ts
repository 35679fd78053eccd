/**
 * @file Task sets: from a list, or made one by one when asked for.
 */
import { EnvironmentError, type Task, type TaskSet } from "./environment.ts";

export interface TaskSetParts {
  readonly environment: string;
  readonly split: string;
  readonly length: number;
  task(index: number): Task;
  /** Without it the task is made to read its type. */
  type?(index: number): string | undefined;
  readonly variants?: number | undefined;
}

/** A task set with its indices checked. */
export function taskSet(parts: TaskSetParts): TaskSet {
  const { environment, split, length, variants = 1 } = parts;
  if (!Number.isInteger(variants) || variants < 1 || length % variants !== 0)
    throw new EnvironmentError(
      environment,
      `split "${split}" has ${length} tasks in ${variants} variants, expected a whole number of tasks in each.`,
    );
  const checked = (index: number): number => {
    if (Number.isInteger(index) && index >= 0 && index < length) return index;
    const range = length > 0 ? `0 to ${length - 1}` : "none: the split is empty";
    throw new EnvironmentError(
      environment,
      `split "${split}" has no task ${index}; indices are ${range}.`,
    );
  };
  return {
    environment,
    split,
    length,
    task: (index) => parts.task(checked(index)),
    type: (index) => (parts.type ? parts.type(checked(index)) : parts.task(checked(index)).type),
    ...(variants > 1 && { variants }),
  };
}

/** A task set over tasks that are already there. */
export function taskList(environment: string, split: string, tasks: readonly Task[]): TaskSet {
  return taskSet({ environment, split, length: tasks.length, task: (index) => tasks[index]! });
}

/** Throws, with the splits that there are, unless `split` is one of them. */
export function requireSplit(environment: string, split: string, splits: readonly string[]): void {
  if (splits.includes(split)) return;
  throw new EnvironmentError(
    environment,
    `there is no split "${split}"; there are ${splits.length > 0 ? splits.join(", ") : "none"}.`,
  );
}
