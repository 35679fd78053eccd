/**
 * @file Tasks from easy to hard. How hard one is, its world says; or else the number of actions that are known to solve it.
 */
import { OptionError } from "../../assembly/index.ts";
import { seededRandom, type Task, type TaskSet, type World } from "../../environments/index.ts";
import type { DifficultyCurriculum } from "../options.ts";

/** Undefined: nobody knows. */
export async function difficultyOf(world: World, task: Task): Promise<number | undefined> {
  return task.difficulty ?? (await world.solution?.(task))?.length;
}

/** [tasks] By index in the set. Throws where they cannot be put into an order. */
export async function difficultiesOf(world: World, tasks: TaskSet): Promise<Float64Array> {
  const found = new Float64Array(tasks.length);
  for (let index = 0; index < tasks.length; index++) {
    const task = tasks.task(index);
    const difficulty = await difficultyOf(world, task);
    if (difficulty === undefined || !Number.isFinite(difficulty))
      throw new OptionError(
        `data.curriculum.by=difficulty: nobody knows how difficult the task ${task.id} of ${task.environment} is. ` +
          "A world says it with `difficulty` of a task, or with `solution`; otherwise use by=success_rate.",
      );
    found[index] = difficulty;
  }
  if (found.every((difficulty) => difficulty === found[0]))
    throw new OptionError(
      `data.curriculum.by=difficulty: all ${tasks.length} tasks of the split "${tasks.split}" are equally difficult ` +
        `(${found[0]}); use by=success_rate.`,
    );
  return found;
}

/**
 * Indices from easy to hard. Numbers of different worlds cannot be compared: where there are several, a task goes by its
 * place among those of its own world. Equally difficult ones are shuffled.
 */
export function fromEasyToHard(
  difficulties: Float64Array,
  tasks: Pick<TaskSet, "length" | "task">,
  seed: number,
): number[] {
  const all = Array.from({ length: tasks.length }, (_, index) => index);
  const sorted = seededRandom("difficulty", seed)
    .shuffled(all)
    .sort((a, b) => difficulties[a]! - difficulties[b]!);
  const byWorld = new Map<string, number[]>();
  for (const index of sorted) {
    const { environment } = tasks.task(index);
    const own = byWorld.get(environment);
    if (own) own.push(index);
    else byWorld.set(environment, [index]);
  }
  if (byWorld.size === 1) return sorted;
  const placed = [...byWorld.values()].flatMap((own) =>
    own.map((index, place) => ({ index, place: (place + 0.5) / own.length })),
  );
  return placed.sort((a, b) => a.place - b.place).map(({ index }) => index);
}

/** The share of the tasks, from the easiest on, that an iteration may play. */
export function openShare(
  iteration: number,
  { easiest, iterations }: DifficultyCurriculum,
): number {
  return Math.min(1, easiest + ((1 - easiest) * (iteration - 1)) / iterations);
}
