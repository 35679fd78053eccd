/**
 * @file Several processes train one run: it is the run of one process, whatever their number. Weights, gradients,
 * every metric, and the episodes that are stored.
 */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { readMetrics, withoutTimings } from "../../src/monitoring/index.ts";
import { readTrajectories } from "../../src/rollout/index.ts";
import { launch } from "../../src/torch/index.ts";
import { temporaryFolder } from "../rollout/support.ts";
import { largestDifference, tinySettings, warmTinyFolder } from "./support/runs.ts";

const SCRIPT = new URL("./support/rank.ts", import.meta.url);
const parent = temporaryFolder();
let warm: string;

beforeAll(async () => {
  warm = await warmTinyFolder(parent);
}, 240_000);

/** What a rank wrote down: see support/rank.ts. */
interface Written {
  readonly weights: number[];
  readonly gradients: number[];
}

async function trained(name: string, processes: number, own: readonly string[]) {
  const run = join(parent, name);
  mkdirSync(run, { recursive: true });
  const lines: string[] = [];
  await launch(SCRIPT, {
    processes,
    arguments: [join(run, "out"), ...tinySettings(warm, join(run, "run")), ...WHOLE, ...own],
    onLine: ({ text }) => lines.push(text),
  });
  const ranks = Array.from(
    { length: processes },
    (_, rank) => JSON.parse(readFileSync(join(run, `out-${rank}.json`), "utf8")) as Written,
  );
  return { run: join(run, "run"), ranks };
}

/** Weights in shards: fsdp.test.ts. */
const WHOLE = ["actor_rollout_ref.actor.strategy=ddp", "critic.strategy=ddp"];

/** Several mini-batches: which rows share one must not depend on the number of ranks. */
const MINI_BATCHES = [
  "data.train_batch_size=5",
  "actor_rollout_ref.actor.ppo_mini_batch_size=4",
  "critic.ppo_mini_batch_size=6",
  "actor_rollout_ref.actor.optim.lr=1e-4",
  "trainer.total_epochs=10",
  "trainer.test_freq=5",
];

const CASES: [name: string, own: string[]][] = [
  ["PPO with a critic", ["algorithm.adv_estimator=gae"]],
  ["GRPO", ["algorithm.adv_estimator=grpo", "actor_rollout_ref.actor.use_kl_loss=True"]],
  ["GiGPO, turn by turn", ["algorithm.adv_estimator=gigpo", "env.context=steps"]],
];

/** Where it is not the clock's. */
function untimed(run: string) {
  return readMetrics(join(run, "metrics.jsonl")).map(({ step, metrics }) => ({
    step,
    metrics: withoutTimings(metrics),
  }));
}

it.each(CASES)("%s: 1, 2 and 4 ranks are the same", { timeout: 300_000 }, async (name, own) => {
  const settings = [...MINI_BATCHES, ...own];
  const one = await trained(`${name}-1`, 1, settings);
  const alone = one.ranks[0]!;
  const expected = untimed(one.run);
  expect(Math.max(...alone.gradients.map(Math.abs))).toBeGreaterThan(1e-4);
  expect(expected[0]!.metrics["actor/updates"]).toBeGreaterThan(2);
  const stored = (run: string) => [...readTrajectories(join(run, "trajectories"))];
  for (const processes of [2, 4]) {
    const many = await trained(`${name}-${processes}`, processes, settings);
    for (const rank of many.ranks) {
      expect(rank.weights).toEqual(many.ranks[0]!.weights);
      expect(largestDifference(rank.gradients, alone.gradients)).toBeLessThan(1e-6);
      expect(largestDifference(rank.weights, alone.weights)).toBeLessThan(1e-5);
    }
    const found = untimed(many.run);
    expect(found.map(({ step }) => step)).toEqual(expected.map(({ step }) => step));
    for (const [i, { step, metrics }] of found.entries()) {
      const of = expected[i]!.metrics;
      expect(Object.keys(metrics).sort()).toEqual(Object.keys(of).sort());
      for (const [key, value] of Object.entries(metrics))
        expect(Math.abs(value - of[key]!), `${key} after ${step}, ${processes} ranks`).toBeLessThan(
          1e-5 * Math.max(1, Math.abs(of[key]!)),
        );
    }
    // One folder, with the same episodes in the same order, whoever played them.
    const words = (run: string) => stored(run).map(({ id, turns }) => [id, turns.length]);
    expect(words(many.run)).toEqual(words(one.run));
  }
});

it("dynamic sampling and KL in the reward play the same rounds", { timeout: 300_000 }, async () => {
  const settings = [
    ...["algorithm.adv_estimator=grpo", "env.context=steps", "trainer.total_epochs=3"],
    ...["algorithm.filter_groups.enable=True", "algorithm.filter_groups.max_num_gen_batches=3"],
    ...["algorithm.use_kl_in_reward=True", "algorithm.kl_ctrl.type=adaptive"],
    ...["actor_rollout_ref.actor.ppo_mini_batch_size=2", "actor_rollout_ref.actor.optim.lr=1e-4"],
  ];
  const one = await trained("filter-1", 1, settings);
  const three = await trained("filter-3", 3, settings);
  const [alone] = one.ranks;
  for (const { weights } of three.ranks)
    expect(largestDifference(weights, alone!.weights)).toBeLessThan(1e-5);
  const ids = (run: string) => [...readTrajectories(join(run, "trajectories"))].map(({ id }) => id);
  expect(ids(three.run)).toEqual(ids(one.run));
  for (const [i, { metrics }] of untimed(three.run).entries())
    for (const [key, value] of Object.entries(untimed(one.run)[i]!.metrics))
      expect(metrics[key], key).toBeCloseTo(value, 4);
});
