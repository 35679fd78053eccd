/**
 * @file A world that waits: its answers come from somewhere else, here a clock. Any function may be async.
 *
 *   npx tsx async-world.ts          openmanus-rl play async-world.ts
 */
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { defineEnvironment, train } from "openmanus-rl";

const world = defineEnvironment({
  name: "echo",
  summary: "say the word that was said",
  maximumSteps: 2,
  splits: { train: 200, test: 20 },
  start: (_task, random) => ({ word: random.pick(["tea", "milk", "water"]) }),
  intro: ({ word }) => `Somebody says ${word}.`,
  actions: () => ["tea", "milk", "water"],
  async act({ word }, action) {
    await setTimeout(1);
    return action === word ? { text: "Right.", won: true } : { text: `No: ${word}.` };
  },
  expert: () => ({ act: ({ text }) => /tea|milk|water/.exec(text)![0] }),
});
export default world;

if (process.argv[1] === fileURLToPath(import.meta.url))
  await train({
    world,
    model: { preset: "tiny", tasks: 20 },
    warmStart: { episodes: 30 },
    iterations: 2,
    folder: "runs/async-world",
  });
