/**
 * @file Training tasks set aside: to choose settings and checkpoints by them, and look at the world's own
 * validation splits only once, at the end.
 */
import { seededRandom, type TaskSet, taskSet, type World } from "../environments/index.ts";
import { OptionError } from "./errors.ts";

/** The split of the tasks that were set aside. */
export const HELD_OUT = "held_out";

/** The world, with `count` tasks of `split` in a split of their own, and no longer in `split`. */
export function withHeldOut(world: World, split: string, count: number): World {
  if (world.splits.includes(HELD_OUT))
    throw new OptionError(
      `${count} tasks are to be held out, but ${world.name} has a split "${HELD_OUT}" of its own`,
    );
  return {
    name: world.name,
    ...(world.source !== undefined && { source: world.source }),
    ...(world.tools && { tools: world.tools }),
    ...(world.expert && { expert: (seed) => world.expert!(seed) }),
    ...(world.distantExpert && { distantExpert: (seed) => world.distantExpert!(seed) }),
    ...(world.program && { program: world.program }),
    ...(world.solution && { solution: (task) => world.solution!(task) }),
    environment: () => world.environment(),
    close: () => world.close?.(),
    splits: [...world.splits, HELD_OUT],
    async tasks(name) {
      if (name !== split && name !== HELD_OUT) return world.tasks(name);
      const all = await world.tasks(split);
      const { variants = 1 } = all;
      const originals = all.length / variants;
      if (count >= originals)
        throw new OptionError(
          `${count} tasks are to be held out, but the split "${split}" of ${world.name} has only ${originals} tasks`,
        );
      const order = seededRandom("held out", world.name, split).shuffled(
        Array.from({ length: originals }, (_, i) => i),
      );
      if (name === HELD_OUT) return part(all, name, inOrder(order.slice(0, count)));
      const left = inOrder(order.slice(count));
      const everyVariant = Array.from({ length: variants }, (_, i) =>
        left.map((place) => i * originals + place),
      );
      return part(all, name, everyVariant.flat(), variants);
    },
  };
}

function inOrder(places: readonly number[]): number[] {
  return [...places].sort((a, b) => a - b);
}

/** Some tasks of a set. They keep the split that they come from: the world finds them by it. */
function part(all: TaskSet, split: string, chosen: readonly number[], variants = 1): TaskSet {
  return taskSet({
    environment: all.environment,
    split,
    length: chosen.length,
    task: (index) => all.task(chosen[index]!),
    type: (index) => all.type(chosen[index]!),
    variants,
  });
}
