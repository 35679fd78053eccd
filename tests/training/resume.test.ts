/**
 * @file A run that is killed again and again, and goes on each time, is bitwise the run that nobody
 * disturbed.
 */
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { seededRandom } from "../../src/environments/index.ts";
import { temporaryFolder } from "../rollout/support.ts";
import { killedRun, resultsOf, startRun } from "./support/processes.ts";
import { tinySettings, warmTinyFolder } from "./support/runs.ts";

const parent = temporaryFolder();
let warm: string;

beforeAll(async () => {
  warm = await warmTinyFolder(parent);
}, 240_000);

const settings = (run: string, own: readonly string[]) => [
  ...tinySettings(warm, run),
  "trainer.val_before_train=True",
  ...own,
];

const CASES: [name: string, own: string[], iterations: number, kills: number][] = [
  [
    "PPO with a critic, in conversations",
    [
      "algorithm.adv_estimator=gae",
      "trainer.save_freq=2",
      "trainer.test_freq=7",
      "env.rollout.n=2",
    ],
    30,
    10,
  ],
  [
    "GiGPO, turn by turn, several updates, a schedule",
    [
      "algorithm.adv_estimator=gigpo",
      "env.context=steps",
      "actor_rollout_ref.actor.ppo_mini_batch_size=12",
      "actor_rollout_ref.actor.use_kl_loss=True",
      "actor_rollout_ref.actor.optim.warmup_style=cosine",
      "algorithm.filter_groups.enable=True",
      "trainer.save_freq=1",
    ],
    12,
    3,
  ],
];

describe.each(CASES)("%s", (name, given, iterations, kills) => {
  const own = [...given, `trainer.total_epochs=${iterations}`];

  it(`killed ${kills} times`, { timeout: 600_000 }, async () => {
    const undisturbed = join(parent, `${kills}-undisturbed`);
    const { ended, lines } = startRun(settings(undisturbed, own));
    expect(await ended, lines.join("\n")).toBe(0);

    const disturbed = join(parent, `${kills}-disturbed`);
    const random = seededRandom("kill", name);
    let previous = 0;
    for (let kill = 0; kill < kills; kill++) {
      // The first comes before anything is saved, or soon after; each a little later than the last.
      const iteration = kill === 0 ? 0 : Math.floor((kill * (iterations - 3)) / kills);
      const moment = kill % 3 === 2 ? "checkpoint" : random.integer(120);
      const { code, resumed } = await killedRun(
        settings(disturbed, own),
        disturbed,
        `at ${iteration}`,
        moment,
      );
      expect(code, `kill ${kill} at ${iteration}`).toBe(null);
      if (previous > 2) expect(resumed).toBe(true);
      previous = iteration;
    }
    const last = startRun(settings(disturbed, own));
    expect(await last.ended, last.lines.join("\n")).toBe(0);

    const expected = resultsOf(undisturbed, iterations);
    const got = resultsOf(disturbed, iterations);
    expect(Object.keys(got.weights)).toEqual(Object.keys(expected.weights));
    for (const [file, bytes] of Object.entries(expected.weights))
      expect(got.weights[file] === bytes, file).toBe(true);
    expect(got.state).toEqual(expected.state);
    expect(got.metrics).toEqual(expected.metrics);
    expect(got.episodes).toEqual(expected.episodes);
    expect(expected.metrics).toHaveLength(iterations + 1);
    // It did learn something: the test would hold for a run that does nothing, too.
    const moved = expected.metrics.filter((one) => (one.metrics["actor/grad_norm"] ?? 0) > 0.01);
    expect(moved.length).toBeGreaterThan(iterations / 2);
  });
});
