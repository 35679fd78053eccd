/**
 * @file ALFWorld episodes that everybody plays: some of the real games, and in each the actions of a walk over
 * admissible commands. Made by our engine, and what it showed is kept, to be compared with what others show.
 */
import { cpSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type LocalEnvironment, openWorld, type World } from "../../src/environments/index.ts";

/** A text, and the commands that were possible then. */
export type Shown = readonly [text: string, commands: readonly string[]];

export interface Episode {
  readonly id: string;
  /** The game, in a folder that has nothing but the games that are played. */
  readonly file: string;
  readonly actions: readonly string[];
  /** One more than there are actions: the first is the beginning. */
  readonly shown: readonly Shown[];
}

export async function openGames(folder: string): Promise<World<LocalEnvironment>> {
  return (await openWorld("alfworld", { data: folder })) as World<LocalEnvironment>;
}

/** Copies the games to `place`; they are spread evenly over the split, so that every kind of task is there. */
export async function walks(
  folder: string,
  place: string,
  games: number,
  steps: number,
): Promise<Episode[]> {
  const world = await openGames(folder);
  const split = world.splits.includes("valid_seen") ? "valid_seen" : world.splits[0]!;
  const tasks = await world.tasks(split);
  const count = Math.min(games, tasks.length);
  const environment = world.environment();
  return Array.from({ length: count }, (_, number) => {
    const task = tasks.task(Math.floor((number * tasks.length) / count));
    return { id: task.id, file: copied(folder, place, task.id), ...walk(task) };
  });

  function walk(task: ReturnType<typeof tasks.task>): Pick<Episode, "actions" | "shown"> {
    let { text, admissible = [] } = environment.reset(task);
    const actions: string[] = [];
    const shown: Shown[] = [[text, admissible]];
    let random = 1;
    while (actions.length < steps) {
      random = (Math.imul(random, 1664525) + 1013904223) >>> 0;
      const action = admissible[(random >>> 8) % admissible.length]!;
      const result = environment.step(action);
      ({ text, admissible = [] } = result.observation);
      actions.push(action);
      shown.push([text, admissible]);
      if (result.done) break;
    }
    return { actions, shown };
  }
}

/** ALFWorld's class takes only games beside which their task's kind is written; the published archive has it elsewhere. */
function copied(folder: string, place: string, id: string): string {
  const file = [folder, join(folder, "json_2.1.1")]
    .map((root) => join(root, id))
    .find((path) => existsSync(path));
  if (file === undefined) throw new Error(`The game ${id} is not a file of its own in ${folder}.`);
  const copy = join(place, id);
  mkdirSync(dirname(copy), { recursive: true });
  cpSync(file, copy);
  const kind = id.split("/").at(-3)!.split("-", 1)[0]!;
  writeFileSync(join(dirname(copy), "traj_data.json"), JSON.stringify({ task_type: kind }));
  return copy;
}
