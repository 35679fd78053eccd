/**
 * @file Curricula through runs: what they play. That a killed run is the undisturbed one, and that ranks draw the same, is
 * tested with replay.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { ConfigError, resolveConfig } from "../../../src/config/index.ts";
import { readTrajectories } from "../../../src/rollout/index.ts";
import { temporaryFolder } from "../../rollout/support.ts";
import { optionsOf, tinyRun, warmTinyFolder } from "../support/runs.ts";

const parent = temporaryFolder();
let warm: string;

beforeAll(async () => {
  warm = await warmTinyFolder(parent, { episodes: 60, epochs: 3 });
}, 240_000);

it("a horizon that grows is that of training, not of validation", async () => {
  const { episodes, metrics, run } = await tinyRun(parent, warm, [
    ...["data.curriculum.by=horizon", "data.curriculum.stages=[[1,1],[3,3]]"],
    ...["trainer.total_epochs=3", "trainer.test_freq=1"],
  ]);
  const longest = [1, 2, 3].map((step) =>
    Math.max(...episodes().flatMap((one) => (one.step === step ? one.turns.length : []))),
  );
  expect(longest).toEqual([1, 1, 3]);
  expect(metrics.map((one) => one["curriculum/turns"])).toEqual([1, 1, 3]);
  const validated = [...readTrajectories(join(run, "validation"))];
  expect(Math.max(...validated.map(({ turns }) => turns.length))).toBe(4);
});

it("kinds of task are counted from the first iteration on", async () => {
  const { run } = await tinyRun(parent, warm, [
    ...["data.curriculum.by=kind", "env.env_name=household", "env.max_steps=1"],
  ]);
  const [folder] = readdirSync(join(run, "checkpoints"));
  const state = readFileSync(join(run, "checkpoints", folder!, "state.json"), "utf8");
  const { tasks, kinds } = JSON.parse(state).curriculum;
  expect(tasks.length).toBe(6);
  // Two iterations of three groups of three, of which an earlier iteration of the same kind counts half.
  const counted = kinds.episodes.reduce((sum: number, episodes: number) => sum + episodes, 0);
  expect(counted).toBeGreaterThanOrEqual(9 + 9 / 2);
  expect(counted).toBeLessThanOrEqual(18);
});

it("settings that make no sense are refused", async () => {
  const config = (...own: string[]) => resolveConfig({ overrides: own }).config;
  expect(() => config("data.curriculum.by=difficulty", "data.shuffle=False")).toThrow(
    "data.curriculum.by=difficulty draws tasks at random; leave data.shuffle=False out.",
  );
  expect(() => config("data.curriculum.by=luck")).toThrow(ConfigError);
  await expect(optionsOf(config("data.curriculum.by=horizon"))).rejects.toThrow(
    /data.curriculum.stages: it has no stage/,
  );
});
