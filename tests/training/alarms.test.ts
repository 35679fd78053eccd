/**
 * @file What a run does about its alarms, through `train`: a broken one says so everywhere; asked to, it ends, or goes back
 * to a better checkpoint, and a killed one does the same bitwise.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { resolveConfig } from "../../src/config/index.ts";
import { type Run, rewardFunction, type TrainOptions, train } from "../../src/library/index.ts";
import { readMetrics, readRunLog } from "../../src/monitoring/index.ts";
import { checkpointSteps } from "../../src/training/index.ts";
import { endsInLoop } from "../../src/training/loop/metrics.ts";
import { QUICK, warmModel } from "../library/support.ts";
import { temporaryFolder } from "../rollout/support.ts";
import { resultsOf } from "./support/processes.ts";

const parent = temporaryFolder();
let model: string;

beforeAll(async () => {
  model = await warmModel(parent);
}, 240_000);

const linesOf = (run: Run) => readMetrics(join(run.folder, "metrics.jsonl"));

/** A run in the world of lights; everything that it says. */
async function trained(name: string, own: Partial<TrainOptions> = {}) {
  const said: string[] = [];
  const heard: string[] = [];
  const run = await train({
    ...QUICK,
    ...{ model, iterations: 3, folder: join(parent, name) },
    say: (text) => said.push(text),
    onAlarm: ({ name: alarm, kind, iteration }) => heard.push(`${kind} ${alarm} ${iteration}`),
    ...own,
  });
  return { run, said, heard };
}

describe("a broken run", () => {
  const failing = {
    rewards: [
      rewardFunction("solved", 1, ({ trajectory }) => (trajectory.won ? 1 : 0)),
      rewardFunction("speed", 1, ({ trajectory }) => 1 / (trajectory.member === 0 ? 0 : 2)),
    ],
  };

  it("says so in the terminal, the metrics, the log, the report and to a program", async () => {
    const { run, said, heard } = await trained("broken", failing);
    expect(said.join("\n")).toMatch(
      /iteration 1: alarm reward_failed: "speed" for 3 of 9 episodes\. That is: a reward component .*\. Try: /,
    );
    expect(said.filter((text) => text.includes("alarm reward_failed"))).toHaveLength(1);
    expect(heard).toContain("begins reward_failed 1");
    const [line] = linesOf(run);
    expect(line!.metrics).toMatchObject({
      "alarm/reward_failed": 1,
      "alarm/no_success": 0,
      "rewards/speed/failed": 3,
    });
    const logged = readRunLog(join(run.folder, "log.jsonl")).filter(({ kind }) => kind === "alarm");
    expect(logged).toContainEqual(
      expect.objectContaining({ name: "reward_failed", event: "begins", iteration: 1 }),
    );
    const report = readFileSync(run.report!, "utf8");
    expect(report).toContain('"alarms":[{"name":"reward_failed","from":1');
    expect(run.stopped).toBeUndefined();
  });

  it("ends where it is asked to, with a checkpoint and the reason", async () => {
    const { run, said } = await trained("stopped", {
      ...failing,
      settings: { trainer: { threads: 1, on_alarm: "stop" } },
    });
    expect(run).toMatchObject({ state: { step: 1 }, stopped: { failed: true } });
    expect(run.stopped!.reason).toMatch(/^alarm reward_failed: .*trainer.on_alarm is stop/);
    expect(checkpointSteps(run.folder)).toEqual([1]);
    expect(said.at(-1)).toMatch(/the run ends after iteration 1: alarm reward_failed/);
  });

  it("does not where nothing is serious, or the alarm is ignored", async () => {
    const { run, heard } = await trained("ignored", {
      ...failing,
      settings: {
        trainer: { threads: 1, on_alarm: "stop", ignore_alarms: ["reward_failed"] },
      },
    });
    expect(run).toMatchObject({ state: { step: 3 }, stopped: undefined });
    expect(heard).toEqual([]);
    expect(linesOf(run)[0]!.metrics["alarm/reward_failed"]).toBe(0);
  });
});

describe("going back", () => {
  /** Every iteration's updates move the policy further than they may. */
  const options: Partial<TrainOptions> = {
    iterations: 6,
    settings: {
      trainer: {
        ...{ threads: 1, max_kl: 1e-12, save_freq: 1, max_actor_ckpt_to_keep: 10 },
        ...{ max_rollbacks: 2, rollback_lr_factor: 0.25 },
        on_alarm: "rollback",
      },
      actor_rollout_ref: { actor: { ppo_mini_batch_size: 3 } },
    },
  };

  it("loads an earlier checkpoint, lowers the rate, and ends after so many times", async () => {
    const { run, said } = await trained("back", options);
    const { rollbacks } = run.state;
    expect(rollbacks).toEqual([
      { at: 1, to: 0, alarm: "kl_spike" },
      { at: 2, to: 1, alarm: "kl_spike" },
    ]);
    expect(said.join("\n")).toMatch(
      /iteration 1: because of the alarm kl_spike it goes on from the weights after iteration 0, with 0.25 × the learning rate/,
    );
    // The third one ends it.
    expect(run).toMatchObject({ state: { step: 3 }, stopped: { failed: true } });
    expect(run.stopped!.reason).toMatch(/kl_spike.*after going back 2 times/);
    const lines = linesOf(run).map(({ metrics }) => metrics);
    expect(lines.map((metrics) => metrics["training/rollbacks"])).toEqual([1, 2, 2]);
    expect(lines.map((metrics) => metrics["actor/lr"])).toEqual([1e-3, 2.5e-4, 6.25e-5]);
    // What was loaded is what is saved in its place: weights and moments of the beginning.
    const bytes = (step: number, file: string) =>
      readFileSync(join(run.folder, `checkpoints/step-00000${step}`, file)).toString("base64");
    for (const file of ["actor/model.safetensors", "actor-optimizer.safetensors"]) {
      expect(bytes(1, file)).toBe(bytes(0, file));
      expect(bytes(2, file)).toBe(bytes(0, file));
      expect(bytes(3, file)).not.toBe(bytes(0, file));
    }
  });

  it("is bitwise the same in a run that is interrupted after each iteration", async () => {
    for (let i = 1; i <= 3; i++) {
      const stopping = new AbortController();
      await trained("back-resumed", {
        ...options,
        signal: stopping.signal,
        onEpisode: () => stopping.abort(),
      });
      expect(existsSync(join(parent, `back-resumed/checkpoints/step-00000${i}`))).toBe(true);
    }
    expect(resultsOf(join(parent, "back-resumed"), 3)).toEqual(resultsOf(join(parent, "back"), 3));
  });

  it("is bitwise the same in a run that died between its log and the checkpoint", async () => {
    const dying = {
      log(step: number) {
        if (step === 2) throw new Error("the machine is off");
      },
      close() {},
    };
    await expect(trained("back-died", { ...options, loggers: [dying] })).rejects.toThrow(/is off/);
    await trained("back-died", options);
    expect(resultsOf(join(parent, "back-died"), 3)).toEqual(resultsOf(join(parent, "back"), 3));
  });

  it("is refused without checkpoints, and alarms that there are not", () => {
    const overrides = (...own: string[]) => ({ overrides: own });
    expect(() =>
      resolveConfig(overrides("trainer.on_alarm=rollback", "trainer.save_freq=-1")),
    ).toThrow(/rollback goes back to a checkpoint, and trainer.save_freq=-1 makes none/);
    expect(() => resolveConfig(overrides("trainer.ignore_alarms=[no_succes]"))).toThrow(
      /ignore_alarms names "no_succes"; did you mean no_success\?/,
    );
  });
});

it("a reply that ends in a loop is known by it", () => {
  const words = [5, 6, 7, 8, 9, 10];
  const loop = (period: number[], count: number) =>
    Array.from({ length: count }, () => period).flat();
  expect(endsInLoop([...words, ...loop([1, 2, 3], 6)])).toBe(true);
  expect(endsInLoop([...words, ...loop([1, 2, 3], 6), 99])).toBe(true);
  expect(endsInLoop(loop([4], 16))).toBe(true);
  expect(endsInLoop(loop([4], 15))).toBe(false);
  expect(endsInLoop([...loop(words, 3)])).toBe(false);
  expect(endsInLoop(Array.from({ length: 60 }, (_, i) => (i * 7) % 61))).toBe(false);
  // A loop that is less than half of it is a list, mostly.
  expect(endsInLoop([...Array.from({ length: 40 }, (_, i) => i), ...loop([1, 2], 9)])).toBe(false);
  expect(endsInLoop([])).toBe(false);
});
