/**
 * @file A history of one's own: what a prompt tells of the past, where every turn has a prompt of its own
 * (the context "steps"). Here: only what did not work.
 *
 *   npx tsx history.ts          openmanus-rl train env.history=history.ts env.context=steps …
 */
import { fileURLToPath } from "node:url";
import { type MakeHistory, type PastStep, train } from "openmanus-rl";

const failures: MakeHistory = () => {
  const steps: PastStep[] = [];
  return {
    record: (step) => void steps.push(step),
    text({ observation }) {
      const same = steps.filter((step) => step.observation === observation);
      const tried = same.map(({ action }) => action);
      return tried.length === 0 ? "" : `Here you have tried: ${tried.join(", ")}`;
    },
  };
};
export default failures;

if (process.argv[1] === fileURLToPath(import.meta.url))
  await train({
    world: "maze",
    worldOptions: { maze: "generated", width: 5, height: 5 },
    model: { preset: "tiny", tasks: 20 },
    warmStart: { episodes: 30, epochs: 4 },
    agent: { context: "steps", history: failures },
    iterations: 2,
    tasks: 4,
    turns: 10,
    validation: { every: 0 },
    folder: "runs/history",
  });
