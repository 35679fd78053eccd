/**
 * @file ALFWorld's real games, reduced: the model of examples/alfworld after a third of its episodes of the
 * expert, and few iterations.
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
  model: [
    ...["--preset", "mini", "--matching", "--numbers", "named"],
    ...["--vocabulary", "2048", "--tasks", "1000"],
  ],
  warmUp: [
    ...["--everything", "--episodes", "5000", "--epochs", "1", "--batch", "4", "--lr", "2e-3"],
    ...["--slips", "0.05", "--holdout", "0"],
  ],
  training: [
    ...["--config", "examples/alfworld/gigpo.yaml", "actor_rollout_ref.actor.optim.lr=2e-4"],
    ...["data.train_batch_size=8", "actor_rollout_ref.actor.ppo_mini_batch_size=16"],
    ...["trainer.total_epochs=15", "trainer.test_freq=5", "trainer.save_freq=-1"],
  ],
};
