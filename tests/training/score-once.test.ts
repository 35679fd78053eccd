/**
 * @file An iteration's episodes: played, scored, filtered, each once. What is filtered by is what is trained
 * on, judges are asked once, and every episode is stored, with the reason where it is left out.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { type RewardComponent, rewardFunction } from "../../src/rewards/index.ts";
import type { Trajectory } from "../../src/rollout/index.ts";
import { temporaryFolder } from "../rollout/support.ts";
import { tinyRun, warmTinyFolder } from "./support/runs.ts";

const parent = temporaryFolder();
let warm: string;

beforeAll(async () => {
  warm = await warmTinyFolder(parent);
}, 240_000);

async function trained(own: readonly string[], rewards: readonly RewardComponent[] = []) {
  const { episodes, ...run } = await tinyRun(parent, warm, own, rewards);
  return { ...run, episodes: episodes() };
}

const FILTER = [
  "algorithm.filter_groups.enable=True",
  "algorithm.filter_groups.max_num_gen_batches=4",
];

/** A component that counts how often it was asked for each episode. */
function counting() {
  const asked = new Map<string, number>();
  const component = rewardFunction("counted", 1, ({ trajectory: { id } }) => {
    asked.set(id, (asked.get(id) ?? 0) + 1);
    return 0;
  });
  return { asked, component };
}

describe("every component is asked once for every episode", () => {
  it.each([
    ["plainly", []],
    ["with dynamic sampling", FILTER],
  ])("%s", async (_, own) => {
    const { asked, component } = counting();
    const { episodes } = await trained(own, [component]);
    expect(asked.size).toBe(episodes.length);
    expect([...asked.values()].every((count) => count === 1)).toBe(true);
  });
});

describe("dynamic sampling", () => {
  it("with the reference's KL in the reward, and with ReMax's greedy baselines", async () => {
    for (const own of [
      [...FILTER, "reward.kl=0.1"],
      ["algorithm.adv_estimator=remax", "reward.kl=0.1"],
      [...FILTER, "algorithm.adv_estimator=remax", "reward.kl=0.1"],
    ]) {
      const { metrics, episodes, said } = await trained(own);
      expect(said).toEqual([]);
      expect(metrics).toHaveLength(2);
      expect(episodes.some(({ rewards }) => rewards && "kl" in rewards)).toBe(true);
    }
  });

  it("goes by the reward that is trained on, of the whole group", async () => {
    // Worth something only in comparison: alone, every episode would be the best of its group.
    const best = rewardFunction("best", 1, ({ trajectory, group }) =>
      Number(trajectory.member === Math.max(...group.map(({ member }) => member))),
    );
    const { metrics, episodes } = await trained([...FILTER, "reward.environment=0"], [best]);
    expect(metrics[0]!["training/dropped_groups"]).toBe(0);
    expect(metrics[0]!["training/sampling_rounds"]).toBe(1);
    expect(episodes.filter(({ dropped }) => dropped)).toEqual([]);
  });

  it("stores what it drops, and says why; the rate is that of all episodes", async () => {
    const even = ({ task }: Trajectory) => Number(task.id.split("/")[1]) % 2 === 0;
    const differing = rewardFunction("differing", 1, ({ trajectory }) =>
      even(trajectory) ? trajectory.member : 0,
    );
    const { metrics, episodes } = await trained([...FILTER, "reward.environment=0"], [differing]);
    const first = episodes.filter(({ step }) => step === 1);
    const dropped = first.filter((one) => one.dropped !== undefined);
    expect(dropped.length).toBe(3 * metrics[0]!["training/dropped_groups"]!);
    expect(dropped.length).toBeGreaterThan(0);
    for (const one of dropped) {
      expect(even(one)).toBe(false);
      expect(one.dropped).toMatch(/its group did equally well/);
    }
    for (const one of first.filter(even)) expect(one.rewards).toHaveProperty("differing");
    const won = first.filter((one) => one.won).length / first.length;
    expect(metrics[0]!["episode/success_rate"]).toBeCloseTo(won, 12);
    expect(metrics[0]!["training/episodes"]).toBe(first.length);
  });

  it("ends after so many rounds", async () => {
    const same = rewardFunction("same", 1, () => 1);
    const { metrics, episodes, said } = await trained(
      [...FILTER, "reward.environment=0", "trainer.total_epochs=1"],
      [same],
    );
    expect(metrics[0]!["training/sampling_rounds"]).toBe(4);
    expect(episodes).toHaveLength(4 * 9);
    expect(new Set(episodes.map(({ id }) => id)).size).toBe(36);
    expect(said.join("\n")).toMatch(/none of the 36 episodes can be trained on/);
  });
});

it("an episode whose reward fails is stored with the reason, and left out of the batch", async () => {
  const picky = rewardFunction("picky", 1, ({ trajectory }) => {
    if (trajectory.member === 1) throw new Error("the judge is out");
    return 1;
  });
  const { episodes, said } = await trained(["trainer.total_epochs=1"], [picky]);
  expect(episodes).toHaveLength(9);
  for (const { member, dropped, rewards } of episodes)
    if (member === 1) expect(dropped).toMatch(/reward "picky" .*the judge is out/);
    else expect([dropped, rewards!.picky]).toEqual([undefined, 1]);
  expect(said.filter((text) => text.includes("the judge is out"))).toHaveLength(3);
});

it("groups that were begun and not needed are stored with the reason", async () => {
  const { episodes } = await trained(["env.rollout.oversample=2", "trainer.total_epochs=1"]);
  const used = episodes.filter(({ dropped }) => dropped === undefined);
  expect(episodes).toHaveLength(15);
  expect(used.length).toBeLessThanOrEqual(15);
  for (const { dropped } of episodes)
    if (dropped !== undefined) expect(dropped).toMatch(/aborted|enough groups/);
});
