/**
 * @file Shopping with the world's expert, for tests.
 */
import {
  type LocalEnvironment,
  type Observation,
  openWorld,
  type World,
} from "../../../src/environments/index.ts";

/** The built-in shop. */
export const openShop = async (options: Record<string, unknown> = {}) =>
  (await openWorld("webshop", { data: "builtin", ...options })) as World<LocalEnvironment>;

/** Plays tasks with the expert, or with others where they say something; how many were won, and means. */
export async function shopping(
  world: World<LocalEnvironment>,
  split: string,
  count: number,
  others?: (observation: Observation, task: number, step: number) => string | undefined,
) {
  const tasks = await world.tasks(split);
  const environment = world.environment();
  let won = 0;
  let score = 0;
  let turns = 0;
  for (let i = 0; i < count; i++) {
    const expert = world.expert!(i);
    let observation = environment.reset(tasks.task(i));
    for (let step = 0; step < (others ? 25 : 15); step++) {
      const wanted = expert.act(observation);
      const other = others?.(observation, i, step);
      if (other !== undefined) expert.acted!(other);
      const result = environment.step(other ?? wanted);
      observation = result.observation;
      turns++;
      if (!result.done) continue;
      if (result.won) won++;
      score += result.score;
      break;
    }
  }
  return { won, score: score / count, turns: turns / count };
}
