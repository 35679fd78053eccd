/**
 * @file Does it learn? PPO, GRPO and GiGPO each make a tiny policy much better; with the rewards shuffled
 * among the episodes of a task, which is all that is changed, they do not.
 */
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { Config } from "../../src/config/index.ts";
import { seededRandom } from "../../src/environments/index.ts";
import { type RewardComponent, rewardFunction } from "../../src/rewards/index.ts";
import { temporaryFolder } from "../rollout/support.ts";
import { mazeConfig, warmWalker } from "./support/maze.ts";
import { trainConfig } from "./support/runs.ts";

const parent = temporaryFolder();

/** Takes an episode's reward away and gives it that of another one of its group. */
const shuffled: RewardComponent = rewardFunction("shuffled", 1, ({ trajectory, group }) => {
  const order = seededRandom("shuffled", trajectory.group).shuffled(group);
  return order[group.indexOf(trajectory)]!.reward - trajectory.reward;
});

/** Success on validation tasks, before and after, in points. */
async function learned(config: Config, rewards: readonly RewardComponent[] = []) {
  const rates: number[] = [];
  await trainConfig({
    config,
    rewards,
    onValidation: (_, { successRate }) => rates.push(100 * successRate!),
  });
  return { before: rates[0]!, after: rates.at(-1)! };
}

const ALGORITHMS: [name: string, settings: string[]][] = [
  ["PPO", ["algorithm.adv_estimator=gae", "critic.optim.lr=3e-3"]],
  ["GRPO", ["algorithm.adv_estimator=grpo"]],
  ["GiGPO", ["algorithm.adv_estimator=gigpo"]],
];

describe("the way through a maze", () => {
  let warm: string;
  beforeAll(async () => {
    warm = await warmWalker(parent);
  }, 300_000);

  it.each(ALGORITHMS)(
    "%s finds it, and not from shuffled rewards",
    {
      timeout: 600_000,
    },
    async (name, settings) => {
      const config = (run: string) =>
        mazeConfig(warm, join(parent, run), [
          ...settings,
          "trainer.total_epochs=10",
          "trainer.test_freq=10",
        ]);
      const { before, after } = await learned(config(name));
      const control = await learned(config(`${name}-shuffled`), [shuffled]);
      const text = `${name}: ${before} to ${after}, shuffled ${control.before} to ${control.after}`;
      expect(control.before, text).toBe(before);
      expect(after - before, text).toBeGreaterThanOrEqual(30);
      expect(control.after - control.before, text).toBeLessThan(20);
    },
  );
});
