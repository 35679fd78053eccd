/**
 * @file Old log-probabilities that wait for the advantages: fewer rows are computed, and the same is learned.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { loadModel } from "../../src/models/index.ts";
import { rewardFunction } from "../../src/rewards/index.ts";
import { temporaryFolder } from "../rollout/support.ts";
import { newTinyFolder, tinyRun } from "./support/runs.ts";

const parent = temporaryFolder();
const ALGORITHMS = fileURLToPath(new URL("../../src/algorithms/index.ts", import.meta.url));
const WORDS = [
  ...["env.rollout.n=4", "data.train_batch_size=4", "trainer.save_freq=2"],
  "actor_rollout_ref.actor.ppo_mini_batch_size=4",
];

/** The members of every other task differ in it. */
const letters = rewardFunction("letters", 1, ({ trajectory: { task, turns } }) =>
  Number(/\d+/.exec(task.id)?.[0]) % 2 === 0
    ? 0
    : turns.reduce((sum, { reply }) => sum + reply.text.length, 0),
);

function weightsOf(run: string): number[] {
  const model = loadModel(join(run, "checkpoints", "step-000002", "actor"));
  const numbers = [...model.parameters.values()].flatMap((tensor) => [
    ...tensor.detach().toNumbers(),
  ]);
  model.dispose();
  return numbers;
}

it("learns what it learns where all are computed before", { timeout: 180_000 }, async () => {
  const model = newTinyFolder(parent);
  // The same estimator, as one of one's own: those may read the log-probabilities.
  const file = join(parent, "own-grpo.ts");
  writeFileSync(
    file,
    `import { advantageEstimator } from ${JSON.stringify(ALGORITHMS)};\n` +
      'export default { ...advantageEstimator("grpo"), name: "own" };\n',
  );
  const run = (estimator: string) =>
    tinyRun(parent, model, [`algorithm.adv_estimator=${estimator}`, ...WORDS], [letters]);
  const after = await run("grpo");
  const before = await run(file);
  for (const { metrics } of [after, before])
    for (const line of metrics) {
      expect(line["actor/updates"]).toBeGreaterThan(1);
      expect(line["training/rollout_logprob_diff_max"]).toBeLessThan(1e-4);
    }
  // There were rows to leave out, and rows to learn from.
  const idle = after.metrics.map((line) => line["actor/idle_rows"]!);
  expect(Math.max(...idle)).toBeGreaterThan(0);
  expect(Math.min(...idle)).toBeLessThan(1);
  const [a, b] = [weightsOf(after.run), weightsOf(before.run)];
  const apart = a.map((value, i) => Math.abs(value - b[i]!));
  expect(Math.max(...apart)).toBeLessThan(1e-6);
});
