/**
 * @file A trained model plays one task, for somebody to watch.
 */
import type { Task, World, WorldDefinition } from "../environments/index.ts";
import {
  configForModel,
  evaluateModel,
  requireModelFolder,
  worldFacts,
} from "../evaluation/index.ts";

export interface Watched {
  readonly definition: WorldDefinition;
  readonly world: World;
  readonly task: Task;
  readonly steps: number;
}

/** Prints the episode as `play` does; the form of replies is what the model folder says. */
export async function watchModel(folder: string, watched: Watched): Promise<number> {
  const config = configForModel(requireModelFolder(folder), []);
  const { definition, world, task, steps } = watched;
  const { all } = await evaluateModel(folder, {
    config,
    tasks: [task],
    world: {
      world,
      about: worldFacts(definition, world),
      turns: steps,
      trainSplit: task.split,
      valSplit: task.split,
    },
  });
  const { turns, lastObservation, status, error } = all[0]!;
  for (const { observation, reply } of turns) console.log(`${observation}\n\n> ${reply.text}`);
  console.log(
    `${lastObservation}\n\n${status} after ${turns.length} turns.${error ? ` ${error}` : ""}`,
  );
  return error ? 1 : 0;
}
