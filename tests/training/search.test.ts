/**
 * @file Training with episodes that were searched for: a group is the lines of one search, its log-probabilities are
 * the policy's own, and validation measures the policy without a search.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { readMetrics } from "../../src/monitoring/index.ts";
import { readTrajectories } from "../../src/rollout/index.ts";
import { mazeConfig, warmWalker } from "./support/maze.ts";
import { trainConfig } from "./support/runs.ts";

const folder = mkdtempSync(join(tmpdir(), "openmanus-search-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it("GRPO learns from the lines of searches", async () => {
  const warm = await warmWalker(folder);
  const run = join(folder, "run");
  await trainConfig({
    config: mazeConfig(warm, run, [
      "algorithm.adv_estimator=grpo",
      "env.search.strategy=mcts",
      "env.search.budget_states=80",
      "data.train_batch_size=4",
      "trainer.total_epochs=2",
      "trainer.keep_trajectories=True",
      "trainer.test_freq=2",
    ]),
  });
  const metrics = readMetrics(join(run, "metrics.jsonl")).filter(({ step }) => step > 0);
  expect(metrics).toHaveLength(2);
  for (const { metrics: one } of metrics) {
    expect(one["training/rollout_logprob_diff_max"]).toBeLessThan(1e-4);
    expect(one["actor/grad_norm"]).toBeGreaterThan(0);
  }
  const played = [...readTrajectories(join(run, "trajectories"))];
  const groups = new Map(
    played.map(({ group }) => [group, played.filter((one) => one.group === group)]),
  );
  expect(groups.size).toBe(8);
  for (const members of groups.values()) {
    expect(members.length).toBeLessThanOrEqual(8);
    expect(members.every(({ search }) => search?.strategy === "mcts")).toBe(true);
    expect(members.filter(({ search }) => search!.states > 0)).toHaveLength(1);
  }
  const validation = [...readTrajectories(join(run, "validation"))];
  expect(validation.length).toBeGreaterThan(0);
  expect(validation.every(({ search }) => search === undefined)).toBe(true);
}, 300_000);
