/**
 * @file A world, opened for a run: its tasks to train on and to validate on, and how long an episode is.
 */
import {
  findWorld,
  openWorld,
  seededRandom,
  type Task,
  type TaskSet,
  type World,
  type WorldDefinition,
} from "../environments/index.ts";
import type { WorldFacts } from "../rollout/index.ts";
import { HELD_OUT, withHeldOut } from "./held-out.ts";
import type { WorldOptions } from "./options.ts";

export interface RunWorld {
  readonly world: World;
  readonly about: WorldFacts;
  /** Turns of an episode at most. */
  readonly turns: number;
  readonly trainSplit: string;
  readonly valSplit: string;
}

export async function openRunWorld(given: WorldOptions): Promise<RunWorld> {
  const definition = typeof given.world === "string" ? await findWorld(given.world) : given.world;
  const options: Record<string, unknown> = { ...given.options };
  if ("seed" in definition.options && options.seed === undefined) options.seed = given.seed;
  const opened = await openWorld(definition, options);
  const [first, second] = opened.splits;
  const trainSplit = given.trainSplit ?? first!;
  const { heldOut } = given;
  const world = heldOut > 0 ? withHeldOut(opened, trainSplit, heldOut) : opened;
  return {
    world,
    about: worldFacts(definition, world),
    turns: given.turns ?? definition.maximumSteps,
    trainSplit,
    valSplit: given.valSplit ?? (heldOut > 0 ? HELD_OUT : (second ?? first!)),
  };
}

/** What an agent is told about the world that it acts in. */
export function worldFacts(definition: WorldDefinition, { tools }: World): WorldFacts {
  const { name, summary, briefing = summary } = definition;
  return { name, summary: briefing, tools };
}

/** A fixed choice of so many tasks of a split, the same in every run; null: all. */
export function chosenTasks(tasks: TaskSet, count: number | null): Task[] {
  const all = Array.from({ length: tasks.length }, (_, i) => i);
  const chosen =
    count === null || count >= tasks.length
      ? all
      : seededRandom("validation tasks", tasks.environment, tasks.split)
          .shuffled(all)
          .slice(0, count)
          .sort((a, b) => a - b);
  return chosen.map((index) => tasks.task(index));
}
