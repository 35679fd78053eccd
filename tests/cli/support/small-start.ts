/**
 * @file `openmanus-rl start` with numbers so small that all of it takes seconds: a script that takes the
 * command's words.
 */

import { startCommand } from "../../../src/cli/commands/start.ts";
import { RECIPE } from "../../../src/cli/support/recipe.ts";

const { run } = startCommand({
  ...RECIPE,
  model: { preset: "tiny", tasks: 10, vocabulary: 400 },
  warmStart: { ...(RECIPE.warmStart || {}), episodes: 12 },
  evaluationTasks: 4,
  iterations: 2,
});
process.exitCode = await run([
  ...["env.max_steps=12", "env.rollout.n=2", "data.train_batch_size=2", "trainer.threads=1"],
  ...process.argv.slice(2),
]);
