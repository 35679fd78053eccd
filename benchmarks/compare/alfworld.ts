/**
 * @file ALFWorld's real games, reduced. The model of examples/alfworld learns after an expert that wanders:
 * it can do everything, and does much that leads nowhere. What is compared is how soon it finds out what.
 */
import type { Comparison } from "./comparison.ts";

export const alfworld: Comparison = {
  name: "alfworld",
  title: "ALFWorld, from the same start",
  split: "100 held-out games",
  withScore: false,
  algorithms: ["PPO", "RLOO", "GRPO", "GiGPO", "GiGPO with std"],
  tasks: 100,
  agent: "examples/alfworld/agent.yaml",
  model: { folder: "runs/alfworld/more", madeBy: "npx tsx examples/alfworld/run.ts" },
  warmUp: [
    [
      ...["--all-tokens", "--episodes", "2500", "--epochs", "1", "--batch", "4", "--lr", "1e-3"],
      ...["--mistakes", "0.05", "--random-actions", "0.4", "--seed", "2", "--holdout", "0"],
    ],
  ],
  training: [
    ...["--config", "examples/alfworld/gigpo.yaml", "actor_rollout_ref.actor.optim.lr=3e-4"],
    ...["data.train_batch_size=8", "actor_rollout_ref.actor.ppo_mini_batch_size=16"],
    ...["trainer.total_epochs=12", "trainer.test_freq=6", "trainer.save_freq=-1"],
  ],
};
