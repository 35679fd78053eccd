/**
 * @file Replay through runs, with a curriculum beside it: a killed run is the undisturbed one, two ranks are one, and what
 * makes no sense is refused.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { resolveConfig } from "../../../src/config/index.ts";
import { readMetrics, withoutTimings } from "../../../src/monitoring/index.ts";
import { readTrajectories } from "../../../src/rollout/index.ts";
import { launch } from "../../../src/torch/index.ts";
import { temporaryFolder } from "../../rollout/support.ts";
import { resultsOf, startRun } from "../support/processes.ts";
import { tinyRun, tinySettings, warmTinyFolder } from "../support/runs.ts";

const RANK = new URL("../support/rank.ts", import.meta.url);
const parent = temporaryFolder();
let warm: string;

beforeAll(async () => {
  warm = await warmTinyFolder(parent, { episodes: 60, epochs: 3 });
}, 240_000);

/** Tasks come again soon, so that there is something to replay. */
const AGAIN = [
  ...["data.curriculum.by=success_rate", "data.curriculum.unseen=0.002"],
  "data.curriculum.floor=1",
];
const REPLAY = [...AGAIN, "algorithm.replay.enable=True", "algorithm.replay.share=0.3"];
const checkpoint = (run: string, step: number, file: string) =>
  join(run, "checkpoints", `step-00000${step}`, file);

it("killed while it learns, it learns what it would have learned", {
  timeout: 120_000,
}, async () => {
  const own = [
    ...[...REPLAY, "algorithm.adv_estimator=gigpo", "env.context=steps"],
    ...["trainer.total_epochs=7", "trainer.save_freq=3"],
  ];
  const settings = (run: string) => [...tinySettings(warm, run), ...own];
  const [undisturbed, disturbed] = [join(parent, "undisturbed"), join(parent, "disturbed")];
  const whole = startRun(settings(undisturbed));
  expect(await whole.ended, whole.lines.join("\n")).toBe(0);
  const killed = startRun(settings(disturbed), (line) => {
    if (line === "at 5") killed.child.kill("SIGKILL");
  });
  expect(await killed.ended).toBe(null);
  const last = startRun(settings(disturbed));
  expect(await last.ended, last.lines.join("\n")).toBe(0);
  expect(last.lines.some((line) => line.startsWith("going on after iteration 3"))).toBe(true);
  const expected = resultsOf(undisturbed, 7);
  expect(resultsOf(disturbed, 7)).toEqual(expected);
  expect(expected.state).toHaveProperty("curriculum.won");
  const buffer = (run: string) =>
    readFileSync(checkpoint(run, 7, "replay.jsonl"), "utf8").replace(
      /"(?:seconds|generate|step)":[\d.e-]+/g,
      "",
    );
  expect(buffer(disturbed)).toBe(buffer(undisturbed));
  const sums = (name: string) =>
    expected.metrics.reduce((sum, { metrics }) => sum + (metrics[name] ?? 0), 0);
  expect(sums("replay/share")).toBeGreaterThan(0);
  expect(sums("replay/rescued_groups")).toBeGreaterThan(0);
  expect(sums("curriculum/success_rate")).toBeGreaterThan(0);
});

it("two ranks are one, with a critic, too", { timeout: 120_000 }, async () => {
  const played = async (processes: number) => {
    const run = join(parent, `ranks-${processes}`);
    await launch(RANK, {
      processes,
      arguments: [
        ...[join(parent, `out-${processes}`), ...tinySettings(warm, run), ...REPLAY],
        ...["algorithm.adv_estimator=gae", "actor_rollout_ref.actor.strategy=ddp"],
        ...["critic.strategy=ddp", "actor_rollout_ref.actor.optim.lr=1e-4"],
        ...["trainer.total_epochs=5", "env.rollout.n=2", "data.train_batch_size=5"],
      ],
      onLine: () => {},
    });
    return {
      ids: [...readTrajectories(join(run, "trajectories"))].map(({ id }) => id),
      metrics: readMetrics(join(run, "metrics.jsonl")).map(({ metrics }) =>
        withoutTimings(metrics),
      ),
    };
  };
  const one = await played(1);
  const two = await played(2);
  expect(two.ids).toEqual(one.ids);
  for (const [i, metrics] of one.metrics.entries()) {
    expect(Object.keys(two.metrics[i]!).sort()).toEqual(Object.keys(metrics).sort());
    for (const [name, value] of Object.entries(metrics))
      expect(Math.abs(two.metrics[i]![name]! - value), `${name} in ${i + 1}`).toBeLessThan(
        1e-4 * Math.max(1, Math.abs(value)),
      );
  }
  expect(one.metrics.at(-1)!["replay/share"]).toBeGreaterThan(0.1);
  expect(one.metrics.at(-1)!["critic/vf_loss"]).toBeGreaterThan(0);
});

it("without anything stored it is the run without replay, bitwise", async () => {
  const own = ["trainer.total_epochs=1", "algorithm.adv_estimator=grpo"];
  const off = await tinyRun(parent, warm, own);
  const on = await tinyRun(parent, warm, [...own, "algorithm.replay.enable=True"]);
  expect(resultsOf(on.run, 1).weights).toEqual(resultsOf(off.run, 1).weights);
  expect(Object.keys(off.metrics[0]!).join()).not.toMatch(/replay|curriculum/);
  expect(on.metrics[0]).toMatchObject({ "replay/stored": 0, "replay/share": 0 });
  expect(existsSync(checkpoint(off.run, 1, "replay.jsonl"))).toBe(false);
  expect(resultsOf(off.run, 1).state).not.toHaveProperty("curriculum");
});

describe("refused", () => {
  const cases: [own: string[], reason: RegExp][] = [
    [["algorithm.filter_groups.enable=True"], /drops groups in which nobody won before .*rescue/],
    [["actor_rollout_ref.rollout.one_step_off=True"], /both learn from what older weights drew/],
    [
      ["actor_rollout_ref.rollout.temperature=0.7", "actor_rollout_ref.rollout.top_p=0.9"],
      /needs the log-probabilities of what was drawn/,
    ],
    [["algorithm.replay.rescue=False"], /replays nothing with rescue=False and share=0/],
    [
      [
        "actor_rollout_ref.rollout.name=vllm",
        "actor_rollout_ref.rollout.vllm.urls=[http://127.0.0.1:1]",
      ],
      /needs the log-probabilities of the engine in the training process; .*servers generate/,
    ],
    [["algorithm.replay.share=0.95"], /algorithm\.replay\.share/],
  ];
  it.each(cases)("%s", (own, reason) => {
    const overrides = ["algorithm.replay.enable=True", ...own];
    expect(() => resolveConfig({ overrides })).toThrow(reason);
  });
});
