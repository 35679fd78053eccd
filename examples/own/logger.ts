/**
 * @file A logger of one's own: hears every iteration's metrics.
 *
 *   npx tsx logger.ts          openmanus-rl train trainer.logger=[console,logger.ts] …
 */
import { fileURLToPath } from "node:url";
import { type MetricsLogger, train } from "openmanus-rl";

const successOnly: MetricsLogger = {
  log: (step, metrics) => console.log(`iteration ${step}: ${metrics["episode/success_rate"]}`),
  close: () => console.log("that was all"),
};
export default successOnly;

if (process.argv[1] === fileURLToPath(import.meta.url))
  await train({
    world: "maze",
    worldOptions: { maze: "generated", width: 5, height: 5 },
    model: { preset: "tiny", tasks: 20 },
    warmStart: { episodes: 30 },
    loggers: [successOnly],
    progress: false,
    iterations: 2,
    tasks: 4,
    turns: 10,
    validation: { every: 0 },
    folder: "runs/logger",
  });
