/**
 * @file Two processes train one run: their weights stay equal, and the first update is that of one process
 * with the same episodes.
 */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { readMetrics } from "../../src/monitoring/index.ts";
import { readTrajectories } from "../../src/rollout/index.ts";
import { launch } from "../../src/torch/index.ts";
import { temporaryFolder } from "../rollout/support.ts";
import { largestDifference, tinySettings, warmTinyFolder } from "./support/runs.ts";

const SCRIPT = new URL("./support/rank.ts", import.meta.url);
const parent = temporaryFolder();
let warm: string;

beforeAll(async () => {
  warm = await warmTinyFolder(parent);
});

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
    arguments: [join(run, "out"), ...tinySettings(warm, join(run, "run")), ...own],
    onLine: ({ text }) => lines.push(text),
  });
  const ranks = Array.from(
    { length: processes },
    (_, rank) => JSON.parse(readFileSync(join(run, `out-${rank}.json`), "utf8")) as Written,
  );
  return { run: join(run, "run"), ranks };
}

const CASES: [name: string, own: string[]][] = [
  ["gigpo", ["algorithm.adv_estimator=gigpo", "data.train_batch_size=4"]],
  // Three groups: one process has more to do.
  ["gae", ["algorithm.adv_estimator=gae", "data.train_batch_size=3"]],
  [
    "grpo, turn by turn, with dynamic sampling and KL",
    [
      "algorithm.adv_estimator=grpo",
      "env.context=steps",
      "algorithm.filter_groups.enable=True",
      "algorithm.use_kl_in_reward=True",
      "algorithm.kl_ctrl.type=adaptive",
    ],
  ],
];

it.each(CASES)("%s", { timeout: 300_000 }, async (name, own) => {
  const one = await trained(`${name}-1`, 1, [...own, "trainer.total_epochs=1"]);
  const two = await trained(`${name}-2`, 2, [...own, "trainer.total_epochs=3"]);
  const [first, second] = two.ranks as [Written, Written];
  expect(second.weights).toEqual(first.weights);
  expect(largestDifference(first.gradients, one.ranks[0]!.gradients)).toBeLessThan(1e-6);
  expect(Math.max(...first.gradients.map(Math.abs))).toBeGreaterThan(1e-4);

  const metrics = readMetrics(join(two.run, "metrics.jsonl"));
  expect(metrics.map(({ step }) => step)).toEqual([1, 2, 3]);
  const [alone] = readMetrics(join(one.run, "metrics.jsonl"));
  for (const key of ["actor/pg_loss", "actor/grad_norm", "actor/entropy", "training/episodes"])
    expect(metrics[0]!.metrics[key], key).toBeCloseTo(alone!.metrics[key]!, 5);

  // The same episodes, under the same names, whoever played them.
  const ids = (run: string, folder: string) =>
    [...readTrajectories(join(run, folder))].filter(({ step }) => step === 1).map(({ id }) => id);
  const played = [...ids(two.run, "trajectories-0"), ...ids(two.run, "trajectories-1")];
  expect(played.sort()).toEqual(ids(one.run, "trajectories").sort());
});
