/**
 * @file Prompts of one's own: functions in place of some of the usual words.
 *
 *   npx tsx prompts.ts          openmanus-rl train env.prompts=prompts.ts env.env_name=maze …
 */
import { fileURLToPath } from "node:url";
import { type Prompts, train } from "openmanus-rl";

const terse: Partial<Prompts> = {
  system: () => "",
  turn: ({ turn, turns, observation }) => `${turns - turn} left. ${observation}`,
  unreadable: () => "Again.",
};
export default terse;

if (process.argv[1] === fileURLToPath(import.meta.url))
  await train({
    world: "maze",
    worldOptions: { maze: "generated", width: 5, height: 5 },
    model: { preset: "tiny", tasks: 20 },
    warmStart: { episodes: 30 },
    agent: { prompts: terse },
    iterations: 2,
    tasks: 4,
    turns: 10,
    validation: { every: 0 },
    folder: "runs/prompts",
  });
