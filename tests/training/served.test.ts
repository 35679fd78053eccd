/**
 * @file A run whose episodes are played by vLLM's servers, with the stand-in: it learns from what they play, does not
 * notice when one dies, and stops when one does not have the weights.
 */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { readMetrics } from "../../src/monitoring/index.ts";
import { launch } from "../../src/torch/index.ts";
import { standIn } from "../generation/vllm/support.ts";
import { temporaryFolder } from "../rollout/support.ts";
import { resultsOf } from "./support/processes.ts";
import {
  largestDifference,
  tinyConfig,
  tinySettings,
  trainConfig,
  warmTinyFolder,
} from "./support/runs.ts";

const parent = temporaryFolder();
const TIMEOUT = { timeout: 600_000 };
let warm: string;

beforeAll(async () => {
  warm = await warmTinyFolder(parent, { episodes: 60, epochs: 3 });
}, 300_000);

const served = (executable: string, own: readonly string[] = []) => [
  "algorithm.adv_estimator=grpo",
  "actor_rollout_ref.rollout.name=vllm",
  `actor_rollout_ref.rollout.vllm.executable=${executable}`,
  `actor_rollout_ref.rollout.vllm.weights_folder=${parent}`,
  "actor_rollout_ref.rollout.cache_bytes=100000000",
  "trainer.total_epochs=3",
  ...own,
];

async function train(
  run: string,
  settings: readonly string[],
  onIteration?: (iteration: number) => void,
) {
  const folder = join(parent, run);
  const said: string[] = [];
  const result = await trainConfig({
    config: tinyConfig(warm, folder, settings),
    say: (text) => said.push(text),
    ...(onIteration && { onIteration }),
  });
  const metrics = readMetrics(join(folder, "metrics.jsonl")).map((line) => line.metrics);
  return { folder, said, result, metrics };
}

describe("a run with servers", () => {
  it("gives them its weights after every update, and survives their death", TIMEOUT, async () => {
    const calm = standIn(parent, "calm");
    const own = ["trainer.test_freq=3", "algorithm.rollout_correction.rollout_is=token"];
    const undisturbed = await train("calm-run", served(calm.executable, own));
    expect(undisturbed.metrics.length).toBe(3);
    for (const [i, metrics] of undisturbed.metrics.entries()) {
      expect(metrics["rollout_sync/weight_version"]).toBe(i);
      expect(metrics["rollout_sync/logprob_diff_max"]).toBeLessThan(1e-4);
      expect(metrics["training/rollout_logprob_diff_max"]).toBeLessThan(1e-3);
      expect(metrics["rollout_corr/rollout_is_mean"]).toBeCloseTo(1, 3);
      expect(metrics["actor/updates"]).toBe(1);
    }
    // Four weights, of which the first are those that it was started with; validation has the last.
    const loads = calm.log().map((line) => line.replace(/^\d+ (\w+) .*version-(\d)$/, "$1 $2"));
    expect(loads).toEqual(["started 0", "loaded 1", "loaded 2", "loaded 3"]);

    const mortal = standIn(parent, "mortal");
    const disturbed = await train("mortal-run", served(mortal.executable, own), (iteration) => {
      if (iteration === 1) mortal.fault("die-in-answer");
    });
    expect(disturbed.metrics.at(-1)!["rollout_sync/restarts"]).toBe(1);
    expect(disturbed.said.join("\n")).toMatch(/vLLM server 1 is gone/);
    // The stand-in answers the same request with the same bits: the runs must be the same, too.
    const results = (folder: string) => {
      const { weights, episodes } = resultsOf(folder, 3);
      return { weights, episodes };
    };
    expect(results(disturbed.folder)).toEqual(results(undisturbed.folder));
  });

  it("stops when they do not have the weights", TIMEOUT, async () => {
    const server = standIn(parent, "skips");
    const failed = await train("skipped-run", served(server.executable), (iteration) => {
      if (iteration === 1) server.fault("skip-reload");
    }).catch((error: Error) => error);
    expect((failed as Error).name).toBe("WeightsError");
    expect((failed as Error).message).toMatch(/weights of iteration 1.*so the run stops/);
  });

  it("hands adapters over as such: the base once, a small file per update", TIMEOUT, async () => {
    const lora = [
      ...["actor_rollout_ref.model.lora_rank=4", "actor_rollout_ref.actor.optim.lr=1e-2"],
      "algorithm.rollout_correction.bypass_mode=True",
    ];
    const file = [...lora, "actor_rollout_ref.rollout.vllm.lora=adapter"];
    const server = standIn(parent, "adapter-files");
    const adapted = await train("adapter-files-run", served(server.executable, file));
    for (const one of adapted.metrics)
      expect(one["rollout_sync/logprob_diff_max"]).toBeLessThan(1e-4);
    expect(
      server.log().map((line) => line.replace(/^\d+ (\w+) .*?(policy-\d|base).*$/, "$1 $2")),
    ).toEqual([
      ...["started base", "adapter policy-0", "adapter policy-1", "unloaded policy-0"],
      ...["adapter policy-2", "unloaded policy-1"],
    ]);
    const merged = await train("merged-run", served(standIn(parent, "merged").executable, lora));
    for (const [i, one] of merged.metrics.entries())
      expect(adapted.metrics[i]!["episode/reward/mean"]).toBeCloseTo(one["episode/reward/mean"]!);

    const skips = standIn(parent, "adapter-skips");
    const failed = await train("adapter-skips-run", served(skips.executable, file), (iteration) => {
      if (iteration === 1) skips.fault("skip-reload");
    }).catch((error: Error) => error);
    expect((failed as Error).message).toMatch(/weights of iteration 1.*so the run stops/);
  });

  it("plays for several training processes, each with servers of its own", TIMEOUT, async () => {
    const trained = async (processes: number) => {
      const run = join(parent, `processes-${processes}`);
      mkdirSync(run, { recursive: true });
      const server = standIn(parent, `processes-${processes}-server`);
      await launch(new URL("./support/rank.ts", import.meta.url), {
        processes,
        arguments: [
          ...[join(run, "out"), ...tinySettings(warm, join(run, "run"))],
          ...[...served(server.executable), "actor_rollout_ref.actor.strategy=ddp"],
        ],
        onLine: () => {},
      });
      const file = readFileSync(join(run, "out-0.json"), "utf8");
      const starts = server.log().filter((line) => / started /.test(line)).length;
      return { starts, weights: (JSON.parse(file) as { weights: number[] }).weights };
    };
    const [one, two] = [await trained(1), await trained(2)];
    expect([one.starts, two.starts]).toEqual([1, 2]);
    expect(largestDifference(two.weights, one.weights)).toBeLessThan(1e-5);
  });

  it("learns from adapters, two servers, several updates", TIMEOUT, async () => {
    const server = standIn(parent, "adapters");
    const { metrics } = await train(
      "adapter-run",
      served(server.executable, [
        "actor_rollout_ref.model.lora_rank=4",
        "actor_rollout_ref.rollout.data_parallel_size=2",
        "actor_rollout_ref.actor.ppo_mini_batch_size=4",
        "algorithm.rollout_correction.bypass_mode=True",
        "trainer.total_epochs=2",
      ]),
    );
    expect(metrics.length).toBe(2);
    for (const one of metrics) {
      expect(one["rollout_sync/logprob_diff_max"]).toBeLessThan(1e-4);
      expect(one["training/rollout_logprob_diff_max"]).toBeLessThan(1e-3);
    }
  });
});

describe("one step off", () => {
  const AHEAD = [
    "algorithm.adv_estimator=grpo",
    "actor_rollout_ref.rollout.one_step_off=True",
    "algorithm.rollout_correction.rollout_is=token",
  ];
  const staleness = (metrics: readonly Record<string, number>[]) =>
    metrics.map((one) => one["training/staleness/max"]);

  it("plays with the weights before, and goes on exactly", TIMEOUT, async () => {
    const own = [...AHEAD, "trainer.total_epochs=4", "trainer.save_freq=1"];
    const whole = await train("ahead-whole", own);
    expect(staleness(whole.metrics)).toEqual([0, 1, 1, 1]);
    const stop = new AbortController();
    const settings = tinyConfig(warm, join(parent, "ahead-parts"), own);
    await trainConfig({
      config: settings,
      signal: stop.signal,
      onIteration: (iteration) => {
        // It is asked once per iteration: the next one is its last.
        if (iteration === 1) stop.abort();
      },
    });
    const rest = await trainConfig({ config: settings });
    expect(rest.resumedFrom).toBe(2);
    expect(resultsOf(join(parent, "ahead-parts"), 4)).toEqual(resultsOf(whole.folder, 4));
  });

  it("is the same with servers, which play meanwhile", TIMEOUT, async () => {
    const server = standIn(parent, "ahead");
    const { metrics } = await train("ahead-served", [
      ...served(server.executable, ["trainer.total_epochs=4", "trainer.test_freq=2"]),
      ...AHEAD,
    ]);
    expect(staleness(metrics)).toEqual([0, 1, 1, 1]);
    expect(metrics.map((one) => one["rollout_sync/weight_version"])).toEqual([0, 0, 1, 2]);
  });
});
