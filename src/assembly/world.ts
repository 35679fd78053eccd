/**
 * @file A world, opened for a run: its tasks to train on and to validate on, and how long an episode is.
 */
import {
  placeWorld,
  seededRandom,
  type Task,
  type TaskSet,
  type World,
  type WorldDefinition,
} from "../environments/index.ts";
import type { WorldFacts } from "../rollout/index.ts";
import { exampleMessages } from "./examples.ts";
import { HELD_OUT, withHeldOut } from "./held-out.ts";
import type { WorldOptions } from "./options.ts";

export interface RunWorld {
  readonly world: World;
  readonly about: WorldFacts;
  /** Turns of an episode at most. */
  readonly turns: number;
  readonly trainSplit: string;
  readonly valSplit: string;
  /**
   * The tasks of a split that somebody asks for by its name, to play them: those that were set aside are not
   * among the training split's. Which split that is may only be a guess (the first one of the data that is
   * there now, which may be other data than the model was trained on): one that is too small to have had
   * tasks set aside is not it, and is whole.
   */
  namedTasks(split: string): Promise<TaskSet>;
}

export async function openRunWorld(given: WorldOptions): Promise<RunWorld> {
  const { definition, world: opened } = await placeWorld(given.world, given.options, {
    seed: given.seed,
    seconds: given.openSeconds,
    isolate: given.isolate,
  });
  const [first, second] = opened.splits;
  const trainSplit = given.trainSplit ?? first!;
  const { heldOut } = given;
  const world = heldOut > 0 ? withHeldOut(opened, trainSplit, heldOut) : opened;
  const plain: RunWorld = {
    world,
    about: worldFacts(definition, world),
    turns: given.turns ?? definition.maximumSteps,
    trainSplit,
    valSplit: given.valSplit ?? (heldOut > 0 ? HELD_OUT : (second ?? first!)),
    async namedTasks(split) {
      if (heldOut === 0 || split === HELD_OUT) return world.tasks(split);
      const whole = await opened.tasks(split);
      return split === trainSplit && heldOut < whole.length ? world.tasks(split) : whole;
    },
  };
  if (!given.examples) return plain;
  try {
    // Whoever cuts episodes short wants to see whole ones all the same.
    const whole = { ...plain, turns: definition.maximumSteps };
    const examples = await exampleMessages(whole, given.examples);
    return { ...plain, about: { ...plain.about, examples } };
  } catch (error) {
    await world.close?.();
    throw error;
  }
}

/** What an agent is told about the world that it acts in. */
export function worldFacts(definition: WorldDefinition, { tools }: World): WorldFacts {
  const { name, summary, briefing = summary } = definition;
  return { name, summary: briefing, tools };
}

/** A fixed choice of so many tasks of a split, the same in every run; null: all. Another seed, another choice. */
export function chosenTasks(tasks: TaskSet, count: number | null, seed?: number): Task[] {
  const all = Array.from({ length: tasks.length }, (_, i) => i);
  const chosen =
    count === null || count >= tasks.length
      ? all
      : seededRandom(
          "validation tasks",
          tasks.environment,
          tasks.split,
          ...(seed === undefined ? [] : [seed]),
        )
          .shuffled(all)
          .slice(0, count)
          .sort((a, b) => a - b);
  return chosen.map((index) => tasks.task(index));
}
