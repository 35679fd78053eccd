/**
 * @file A built-in shop of a hundred products: smaller than ALFWorld's comparison.
 */
import type { Comparison } from "./comparison.ts";

export const webshop: Comparison = {
  name: "webshop",
  title: "A shop of a hundred products, from the same start",
  split: "100 goals of the split valid",
  withScore: true,
  algorithms: ["PPO", "GRPO", "GiGPO"],
  tasks: 100,
  agent: "benchmarks/compare/webshop.yaml",
  model: [
    ...["--preset", "mini", "--matching", "--numbers", "joined"],
    ...["--vocabulary", "1536", "--tasks", "300"],
  ],
  warmUp: [
    ...["--everything", "--episodes", "2000", "--epochs", "1", "--batch", "2", "--lr", "2e-3"],
    ...["--slips", "0.05", "--holdout", "0"],
  ],
  training: [
    ...["--config", "examples/alfworld/gigpo.yaml", "env.max_steps=10"],
    // After so short a warm start no purchase scores 1: what is learned from is the score.
    ...["reward.environment=0", "reward.score=10"],
    ...["actor_rollout_ref.actor.optim.lr=3e-4", "data.train_batch_size=8"],
    ...["actor_rollout_ref.actor.ppo_mini_batch_size=16"],
    ...["trainer.total_epochs=8", "trainer.test_freq=4", "trainer.save_freq=-1"],
  ],
};
