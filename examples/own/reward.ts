/**
 * @file A reward of one's own: steps that go back to where the agent was before cost something. It gives a
 * number for each turn (or one for the whole episode), and may be async.
 *
 *   npx tsx reward.ts          openmanus-rl train reward.files=[reward.ts] env.env_name=maze …
 */
import { fileURLToPath } from "node:url";
import { environment, rewardFunction, train } from "openmanus-rl";

const noReturning = rewardFunction("no_returning", 0.5, ({ trajectory }) => {
  const seen = new Set<string>();
  return trajectory.turns.map(({ anchor }) => {
    const returned = seen.has(anchor);
    seen.add(anchor);
    return returned ? -1 : 0;
  });
});
export default noReturning;

if (process.argv[1] === fileURLToPath(import.meta.url))
  await train({
    world: "maze",
    worldOptions: { maze: "generated", width: 5, height: 5 },
    model: { preset: "tiny", tasks: 20 },
    warmStart: { episodes: 30 },
    rewards: [environment(1), noReturning],
    iterations: 2,
    tasks: 4,
    turns: 10,
    validation: { every: 0 },
    folder: "runs/reward",
  });
