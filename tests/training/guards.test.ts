/**
 * @file What a run does when something goes wrong in it: updates that are not finite, alarms, early ends,
 * interrupts, worlds that fail.
 */
import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { resolveConfig } from "../../src/config/index.ts";
import { registerWorld } from "../../src/environments/index.ts";
import { readMetrics } from "../../src/monitoring/index.ts";
import { rewardFunction } from "../../src/rewards/index.ts";
import { noGrad, tidy } from "../../src/torch/index.ts";
import { checkpointSteps } from "../../src/training/index.ts";
import { createGuards } from "../../src/training/loop/guards.ts";
import { actorSettings, updateActor } from "../../src/training/workers/actor.ts";
import { createLossScale } from "../../src/training/workers/loss-scale.ts";
import { updateOptions } from "../../src/training/workers/optimize.ts";
import { temporaryFolder } from "../rollout/support.ts";
import lights from "./support/lights.ts";
import {
  optionsOf,
  setUp,
  tinyConfig,
  trainConfig,
  warmTinyFolder,
  weightsOf,
} from "./support/runs.ts";

const parent = temporaryFolder();
let warm: string;
let runs = 0;

beforeAll(async () => {
  warm = await warmTinyFolder(parent);
}, 240_000);

const newRun = () => join(parent, `run-${runs++}`);

describe("updates that are not finite", () => {
  it("are skipped, name their episodes, and leave the weights alone", async () => {
    const config = tinyConfig(warm, newRun(), ["actor_rollout_ref.actor.ppo_mini_batch_size=3"]);
    const { workers, batch, options: run } = await setUp(config);
    const bad = 4;
    const advantages = batch.logprobs.map((_, i) => (batch.rows.mask[i] ? 0.5 : 0));
    const place = batch.spans.start[batch.spans.row.indexOf(bad)]!;
    advantages[place] = Number.NaN;
    const options = { ...updateOptions(run, "actor", 1), shuffle: false };
    const result = updateActor(workers.actor, batch, { advantages }, actorSettings(run), options);
    const { id } = batch.trajectories[batch.trajectoryOf[bad]!]!;
    expect(result.skipped).toHaveLength(1);
    expect(result.skipped[0]).toMatchObject({ episodes: [id], isOverflow: false });
    expect(result.updates).toBe(2);
    expect(result.metrics["actor/skipped_updates"]).toBe(1);
    expect(Number.isFinite(result.metrics["actor/pg_loss"])).toBe(true);
    expect(weightsOf(workers.actor.model).every(Number.isFinite)).toBe(true);

    // Weights that are not numbers: nothing is updated, and a guard says who.
    noGrad(() => tidy(() => workers.actor.model.parameters.get("model.norm.weight")!.fill_(NaN)));
    const broken = updateActor(workers.actor, batch, { advantages }, actorSettings(run), options);
    expect([broken.updates, broken.skipped.length]).toEqual([0, 3]);
    const guards = createGuards(run.guards);
    guards.updated("actor", broken);
    expect(guards.details.update_skipped).toMatch(
      /an update of the actor: .*\(episodes? .*1:train/,
    );
    expect(guards.badNow).toBe(3);
    expect(guards.stop(2, undefined, 0)).toBeUndefined();
    guards.updated("actor", broken);
    expect(guards.stop(2, undefined, 0)).toMatchObject({
      failed: true,
      reason: expect.stringMatching(/^6 updates of the actor in a row were not finite/),
    });
    guards.updated("actor", result);
    expect(guards.stop(2, undefined, 0)).toBeUndefined();
    await workers.dispose();
  });

  it("a critic's stop the run, too, whatever the actor does", async () => {
    const guards = createGuards((await optionsOf(resolveConfig().config)).guards);
    const bad = { reason: "the loss is NaN", episodes: [], isOverflow: false };
    const good = { metrics: {}, updates: 1, skipped: [] };
    for (let i = 0; i < 5; i++) {
      guards.updated("critic", { metrics: {}, updates: 0, skipped: [bad] });
      guards.updated("actor", good);
    }
    expect(guards.stop(2, undefined, 0)?.reason).toMatch(/5 updates of the critic/);
  });

  it("the overflows by which float16 finds its scale do not", async () => {
    const guards = createGuards((await optionsOf(resolveConfig().config)).guards);
    const overflow = { reason: "the gradient's norm is Infinity", episodes: [], isOverflow: true };
    for (let i = 0; i < 9; i++)
      guards.updated("actor", { metrics: {}, updates: 0, skipped: [overflow] });
    expect(guards).toMatchObject({ details: {}, badNow: 0 });
    expect(guards.stop(2, undefined, 0)).toBeUndefined();
    const scale = createLossScale(true);
    for (let i = 0; i < 20; i++) scale.failed();
    expect(scale.value).toBe(1);
    for (let i = 0; i < 2000; i++) scale.succeeded();
    expect(scale.value).toBe(2);
    const other = createLossScale(true);
    other.load(scale.state());
    expect(other.value).toBe(2);
    expect(createLossScale(false).value).toBe(1);
  });
});

describe("alarms and early ends", () => {
  async function trained(...own: string[]) {
    const run = newRun();
    const said: string[] = [];
    const config = tinyConfig(warm, run, ["trainer.total_epochs=3", ...own]);
    const result = await trainConfig({ config, say: (text) => said.push(text) });
    return { run, result, said };
  }

  it("a policy that says always the same, and one that runs away", async () => {
    const { said } = await trained(
      "trainer.min_entropy=5",
      "trainer.max_kl=1e-9",
      "actor_rollout_ref.actor.ppo_mini_batch_size=3",
      "actor_rollout_ref.actor.optim.lr=0.05",
    );
    expect(said.join("\n")).toMatch(/the policy's entropy is .*min_entropy is 5.*exploring/);
    expect(said.join("\n")).toMatch(/moved by a KL of .*trainer.max_kl is 1e-9/);
  });

  it("a success rate that was asked for, with a checkpoint", async () => {
    const { result, run, said } = await trained(
      "trainer.target_success=0.01",
      "trainer.test_freq=1",
      "data.val_batch_size=12",
      "trainer.save_freq=-1",
    );
    expect(result.stopped).toMatchObject({ failed: false });
    expect(result.state.step).toBeLessThan(3);
    expect(checkpointSteps(run)).toEqual([result.state.step]);
    expect(said.at(-1)).toMatch(/the run ends after iteration \d: validation reached/);
  });

  it("time, and memory", async () => {
    const time = await trained("trainer.max_minutes=0.00001");
    expect(time.result).toMatchObject({ stopped: { failed: false }, state: { step: 1 } });
    const memory = await trained("trainer.max_memory_gb=0.001");
    expect(memory.result).toMatchObject({ stopped: { failed: true }, state: { step: 1 } });
    expect(memory.said.at(-1)).toMatch(
      /the process holds .* GB \(trainer.max_memory_gb is 0.001\)/,
    );
    expect(checkpointSteps(memory.run)).toEqual([1]);
  });

  it("minutes are counted once, over all sessions", async () => {
    const run = newRun();
    const begun = performance.now();
    const config = (...own: string[]) => tinyConfig(warm, run, ["trainer.total_epochs=4", ...own]);
    await trainConfig({ config: config("trainer.max_minutes=0.00001") });
    const { state } = await trainConfig({ config: config() });
    expect(state.step).toBe(4);
    expect(state.minutes).toBeLessThan((performance.now() - begun) / 60_000);
  });

  it("an interrupt, whenever it comes: the iteration is finished and saved", async () => {
    for (const when of ["before", "in", "while saving"] as const) {
      const run = newRun();
      const stopping = new AbortController();
      if (when === "before") stopping.abort();
      const config = tinyConfig(warm, run, ["trainer.total_epochs=4", "trainer.save_freq=-1"]);
      const rewards = [
        rewardFunction("nothing", 0, () => {
          if (when === "in") stopping.abort();
          return 0;
        }),
      ];
      const { interrupted, state } = await trainConfig({
        ...{ config, rewards },
        signal: stopping.signal,
        loggers: [
          { log: () => (when === "while saving" ? stopping.abort() : undefined), close() {} },
        ],
      });
      expect(interrupted, when).toBe(true);
      const step = { before: 0, in: 1, "while saving": 2 }[when];
      expect(state.step, when).toBe(step);
      expect(checkpointSteps(run), when).toEqual(step === 0 ? [] : [step]);
      const after = await trainConfig({ config, rewards });
      expect(after).toMatchObject({ resumedFrom: step, state: { step: 4 } });
    }
  });
});

describe("worlds that fail", () => {
  let failing: (task: string) => boolean = () => false;
  registerWorld({
    ...lights,
    name: "broken-lights",
    open: async (options) => {
      const world = await lights.open(options);
      return {
        ...world,
        environment() {
          const environment = world.environment();
          return {
            ...environment,
            reset(task) {
              if (failing(task.id)) throw new Error("the bulb is out");
              return environment.reset(task);
            },
            step: (action) => environment.step(action),
          };
        },
      };
    },
  });
  afterEach(() => {
    failing = () => false;
  });

  async function trained(estimator: string, onIteration: () => void = () => {}) {
    const run = newRun();
    const said: string[] = [];
    const config = tinyConfig(warm, run, [
      "env.env_name=broken-lights",
      `algorithm.adv_estimator=${estimator}`,
      "env.rollout.retries=0",
      "trainer.total_epochs=2",
      "trainer.test_freq=1",
    ]);
    const result = await trainConfig({
      config,
      say: (text) => said.push(text),
      loggers: [{ log: onIteration, close() {} }],
    });
    const metrics = readMetrics(join(run, "metrics.jsonl")).map((line) => line.metrics);
    return { result, metrics, said };
  }

  it("some episodes: they are left out, counted and told", async () => {
    failing = (task) => Number(task.split("/")[1]) % 2 === 1;
    const { metrics, said } = await trained("gigpo");
    expect(metrics[0]!["training/left_out_episodes"]).toBeGreaterThan(0);
    expect(metrics[0]!["val/left_out_episodes"]).toBeGreaterThan(0);
    expect(said.join("\n")).toMatch(/iteration 1: .*environment error: .*the bulb is out/);
  });

  it.each(["gigpo", "grpo", "gae", "reinforce_plus_plus"])(
    "all of a later iteration, with %s: nothing is learned, and the run goes on",
    async (estimator) => {
      const { metrics, said } = await trained(estimator, () => {
        failing = () => true;
      });
      expect(metrics).toHaveLength(2);
      expect(metrics[1]!["training/left_out_episodes"]).toBe(9);
      expect(metrics[1]!["actor/updates"]).toBe(0);
      expect(said.join("\n")).toMatch(
        /iteration 2: alarm nothing_played: .*none of the 9 episodes can be trained on/,
      );
    },
  );

  it("all of the first: the run has failed", async () => {
    failing = () => true;
    const { result, said } = await trained("gigpo");
    expect(result).toMatchObject({ stopped: { failed: true }, state: { step: 1 } });
    expect(said.join("\n")).toMatch(/none of the 9 episodes .* \(9 × environment error\)/);
  });
});
