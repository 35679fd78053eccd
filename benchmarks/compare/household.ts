/**
 * @file Long episodes whose reward comes at the end: household tasks in 30 turns, after an expert that does something useless
 * in three of ten turns. Here advantages by step should matter, if anywhere.
 *
 * Written down before the runs: of two algorithms one is better if it is so in each of the five seeds, and if the
 * tasks that only one of them solves, all seeds together, differ with p < 0.01 (sign test; five questions are asked).
 */
import type { Comparison } from "./comparison.ts";

export const household: Comparison = {
  name: "household",
  title: "Household tasks of up to 30 turns, from the same start",
  split: "200 tasks in rooms never seen",
  withScore: false,
  algorithms: ["PPO", "RLOO", "GRPO", "GiGPO", "GiGPO with std", "GiGPO, state anchors"],
  tasks: 200,
  agent: "benchmarks/compare/household.yaml",
  model: ["--preset", "tiny", "--vocabulary", "1024", "--tasks", "300"],
  warmUp: [
    [
      ...["--episodes", "8000", "--epochs", "1", "--batch", "4", "--lr", "4e-3"],
      ...["--mistakes", "0.05", "--holdout", "0", "--all-tokens"],
      ...["--random-actions", "0.3", "--random-pattern", "^(go to|look|examine|inventory)"],
    ],
  ],
  training: [
    // Nothing but the end is rewarded.
    ...["actor_rollout_ref.actor.use_invalid_action_penalty=False", "env.rollout.n=8"],
    ...["data.train_batch_size=8", "actor_rollout_ref.actor.ppo_mini_batch_size=32"],
    ...["actor_rollout_ref.actor.optim.lr_warmup_steps=5"],
    ...["actor_rollout_ref.actor.optim.betas=[0.9,0.98]", "trainer.save_freq=-1"],
    ...["env.val_split=valid_unseen", "data.val_batch_size=200"],
    ...["actor_rollout_ref.rollout.val_kwargs.temperature=1"],
    ...["trainer.total_epochs=24", "trainer.test_freq=24"],
  ],
  tuning: {
    rates: ["5e-4", "1e-3"],
    training: ["trainer.total_epochs=10", "trainer.test_freq=10", "env.val_split=valid_seen"],
  },
  questions: [
    ["GiGPO", "GRPO"],
    ["GiGPO", "PPO"],
    ["GiGPO", "RLOO"],
    ["GiGPO", "GiGPO with std"],
    ["GiGPO, state anchors", "GiGPO"],
  ],
};
