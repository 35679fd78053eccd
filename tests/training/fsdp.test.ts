/**
 * @file Weights in shards over 2 and 4 ranks: the run is that of one process with whole weights. Through the
 * training entry, in processes of their own; what is compared is what the runs leave in their folders.
 */
import { join } from "node:path";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { temporaryFolder } from "../rollout/support.ts";
import { warmTinyFolder } from "./support/runs.ts";
import { differences, type Finished, trainedBy } from "./support/sharded.ts";

vi.setConfig({ testTimeout: 900_000, hookTimeout: 120_000 });

const parent = temporaryFolder();
let warm: string;

beforeAll(async () => {
  warm = await warmTinyFolder(parent);
}, 240_000);

const run = (name: string, processes: number, own: readonly string[]): Promise<Finished> =>
  trainedBy(join(parent, name), warm, processes, own);

const CASES: [name: string, own: string[]][] = [
  ["grpo", ["algorithm.adv_estimator=grpo", "data.train_batch_size=5"]],
  ["ppo with a critic", ["algorithm.adv_estimator=gae", "data.train_batch_size=6"]],
  ["gigpo", ["algorithm.adv_estimator=gigpo", "data.train_batch_size=4"]],
  [
    "grpo, several mini-batches",
    [
      ...["algorithm.adv_estimator=grpo", "data.train_batch_size=5"],
      "actor_rollout_ref.actor.ppo_mini_batch_size=4",
    ],
  ],
];

// AdamW makes steps of the size of the rate of whatever gradient there is, also of one that is only rounding:
// with a rate of 1e-3 weights are 4e-5 apart after ten of them.
const EACH_ITERATION = [
  "actor_rollout_ref.actor.optim.lr=1e-4",
  "trainer.save_freq=1",
  "trainer.max_actor_ckpt_to_keep=20",
];

describe.each(CASES)("%s", (name, own) => {
  it("2 and 4 ranks give the gradients, weights and metrics of 1", async () => {
    const settings = [...own, ...EACH_ITERATION, "trainer.total_epochs=10"];
    const one = await run(`${name}-1`, 1, settings);
    for (const processes of [2, 4]) {
      const several = await run(`${name}-${processes}`, processes, settings);
      const { gradients, weights, metrics } = differences(one, several, 10);
      expect(one.largestGradient).toBeGreaterThan(1e-4);
      expect(gradients, "gradients of the first update").toBeLessThan(1e-6);
      expect(weights, "weights after 10 iterations").toBeLessThan(1e-5);
      expect(metrics, "metrics").toEqual([]);
    }
  });
});
