/**
 * @file The built-in shop: smaller than ALFWorld's comparison.
 */
import type { Comparison } from "./comparison.ts";

export const webshop: Comparison = {
  name: "webshop",
  title: "The built-in shop, from the same start",
  split: "100 goals of the split valid",
  withScore: true,
  algorithms: ["PPO", "GRPO", "GiGPO"],
  tasks: 100,
  agent: "benchmarks/compare/webshop.yaml",
  model: ["--preset", "mini", "--matching", "--tasks", "400", "--vocabulary", "1536"],
  warmUp: [
    ...["--everything", "--episodes", "4000", "--epochs", "1", "--batch", "2", "--lr", "2e-3"],
    ...["--slips", "0.05", "--holdout", "0"],
  ],
  training: [
    ...["--config", "examples/alfworld/gigpo.yaml", "env.max_steps=10"],
    ...["data.train_batch_size=8", "actor_rollout_ref.actor.ppo_mini_batch_size=32"],
    ...["trainer.total_epochs=20", "trainer.test_freq=10", "trainer.save_freq=-1"],
  ],
};
