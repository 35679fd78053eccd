/**
 * @file A run whose world lives in processes of its own is bitwise the run in which it does not.
 */
import { expect, it } from "vitest";
import { temporaryFolder } from "../rollout/support.ts";
import { resultsOf } from "./support/processes.ts";
import { newTinyFolder, tinyConfig, tinyRun, trainConfig } from "./support/runs.ts";

const parent = temporaryFolder();

it.each([
  ["a file", []],
  [
    "a built-in world, with actions listed",
    [
      ...["env.env_name=household", "env.options.games=20", "env.options.difficulty=easy"],
      ...["env.max_steps=3", "env.show_admissible=True", "data.held_out=4"],
    ],
  ],
])("%s gives the same episodes, metrics and weights", { timeout: 180_000 }, async (name, own) => {
  const model = newTinyFolder(parent, name);
  const common = ["trainer.test_freq=1", "trainer.save_freq=2", ...own];
  const here = await tinyRun(parent, model, common);
  const there = await tinyRun(parent, model, [...common, "env.isolate=2"]);
  expect(there.result.state.episodes).toBeGreaterThan(0);
  expect(resultsOf(there.run, 2)).toEqual(resultsOf(here.run, 2));
});

it("a run may go on in processes of its own, or without", { timeout: 180_000 }, async () => {
  const model = newTinyFolder(parent, "going-on");
  const whole = await tinyRun(parent, model, ["trainer.save_freq=1", "trainer.total_epochs=2"]);
  const first = ["trainer.save_freq=1", "trainer.total_epochs=1"];
  const { run } = await tinyRun(parent, model, first);
  const place = `trainer.default_local_dir=${run}`;
  const others = ["env.rollout.step_seconds=60", "reward.seconds=30", "env.open_seconds=null"];
  const config = tinyConfig(model, run, [
    ...["trainer.save_freq=1", "trainer.total_epochs=2", place, "env.isolate=1", ...others],
  ]);
  const { resumedFrom } = await trainConfig({ config });
  expect(resumedFrom).toBe(1);
  expect(resultsOf(run, 2)).toEqual(resultsOf(whole.run, 2));
});
