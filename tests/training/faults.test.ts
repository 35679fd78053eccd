/**
 * @file A fifth of a world's calls fail, in every way and at every place, and rewards fail with them: what is trained on is what
 * would have been trained on without the faults, but for the episodes that are lost; faults are counted; nothing hangs.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { registerWorld, seededRandom } from "../../src/environments/index.ts";
import { rewardFunction } from "../../src/rewards/index.ts";
import { isTrainable, packTrajectories, type Trajectory } from "../../src/rollout/index.ts";
import { type Fault, faultyWorld } from "../../tools/soak/faulty.ts";
import lights from "./support/lights.ts";
import { tinyRun, warmTinyFolder } from "./support/runs.ts";

let parent: string;
let warm: string;
beforeAll(async () => {
  parent = mkdtempSync(join(tmpdir(), "openmanus-faults-"));
  warm = await warmTinyFolder(parent, { episodes: 60, epochs: 3 });
}, 120_000);
afterAll(() => rmSync(parent, { recursive: true, force: true }));

/** One reward in five is lost, by the episode's name: the same ones whenever they are asked for. */
const fallible = (share: number) =>
  rewardFunction("fallible", 1, async ({ trajectory, signal }) => {
    const random = seededRandom("reward", trajectory.id);
    if (!random.chance(share)) return 0.5;
    switch (random.pick(["throws", "no number", "silent judge"])) {
      case "throws":
        throw new Error("the judge is ill");
      case "no number":
        return Number.NaN;
      default:
        return new Promise<number>((_, reject) => {
          signal!.addEventListener("abort", () => reject(new Error("told to stop")));
        });
    }
  });

async function played(seed: number, share: number) {
  const faults: Record<string, number> = {};
  const count = (fault: Fault, call: string) => {
    faults[call] = (faults[call] ?? 0) + 1;
    faults[fault] = (faults[fault] ?? 0) + 1;
  };
  const name = `faulty-lights-${seed}-${share > 0 ? "with" : "without"}`;
  registerWorld(faultyWorld(lights, { seed, share, name, onFault: count }));
  const run = await tinyRun(
    parent,
    warm,
    [
      `env.env_name=${name}`,
      ...["env.rollout.step_seconds=0.2", "env.rollout.retries=1", "reward.seconds=0.2"],
      ...["data.train_batch_size=4", "env.rollout.n=4", "trainer.total_epochs=1"],
      "algorithm.adv_estimator=grpo",
    ],
    [fallible(share)],
  );
  return { ...run, faults };
}

/** What an episode is, without where it was played and how long that took. */
const essence = ({ id, group, status, reward, score, won, turns }: Trajectory) => ({
  ...{ id, group, status, reward, score, won },
  turns: turns.map(({ promptIds, reply, action, reward: given }) => {
    return { promptIds, ids: reply.ids, logprobs: reply.logprobs, action, reward: given };
  }),
});

/** A batch, without the episodes that it is of. */
function numbersOf(episodes: readonly Trajectory[]) {
  const { trajectories: _, ...numbers } = packTrajectories(episodes);
  return numbers;
}

it.each([1, 2, 3])("seed %i", { timeout: 120_000 }, async (seed) => {
  const good = await played(seed, 0);
  const bad = await played(seed, 0.2);
  expect(good.metrics[0]!["training/left_out_episodes"]).toBe(0);
  const all = bad.episodes();
  expect(all).toHaveLength(16);

  // The batch is the batch of the episodes that lived, number for number.
  const trained = all.filter((one) => isTrainable(one) && one.dropped === undefined);
  const lived = new Set(trained.map(({ id }) => id));
  expect(lived.size).toBeGreaterThan(2);
  expect(lived.size).toBeLessThan(16);
  const expected = good.episodes().filter(({ id }) => lived.has(id));
  expect(trained.map(essence)).toEqual(expected.map(essence));
  expect(numbersOf(trained)).toEqual(numbersOf(expected));

  // Counted by kind.
  const [metrics] = bad.metrics;
  const kinds = ["late", "garbage", "threw"].map(
    (kind) => metrics![`training/faults/${kind}`] ?? 0,
  );
  const world = ["reset", "step"].reduce((sum, call) => sum + (bad.faults[call] ?? 0), 0);
  expect(kinds.reduce((sum, times) => sum + times)).toBe(world);
  expect(metrics!["training/faults/late"] ?? 0).toBe(bad.faults.hangs ?? 0);
  const lost = all.filter(({ dropped }) => /reward "fallible"|fallible/.test(dropped ?? ""));
  expect(metrics!["training/faults/reward"] ?? 0).toBe(lost.length);
});
