/**
 * @file The composer, and the way of one reward from the component to the token.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  allocateRewards,
  composeGroup,
  environment,
  goal,
  RewardError,
  rewardComposer,
  rewardFunction,
  stepRewards,
  timePenalty,
} from "../../src/rewards/index.ts";
import { packTrajectories } from "../../src/rollout/index.ts";
import { episode, turn } from "./support.ts";

const three = episode([turn(), turn({ reward: 1 }), turn({ reward: 10 })], { won: true });
const input = { trajectory: three, group: [three], maximumTurns: 10 };

describe("the composer", () => {
  it("weighs and adds, for the episode and for each turn", async () => {
    const composer = rewardComposer([goal(2), environment(0.5), timePenalty(1)]);
    const { episode: whole, turns, total, breakdown } = await composer.compose(input);
    expect(whole).toBe(2);
    expect([...turns]).toEqual([-0.1, 0.4, 4.9]);
    expect(total).toBeCloseTo(7.2, 12);
    expect(breakdown.goal).toBe(2);
    expect(breakdown.environment).toBe(5.5);
    expect(breakdown.time_penalty).toBeCloseTo(-0.3, 12);
  });

  it("has a breakdown that sums up to the total", async () => {
    const number = fc.double({ min: -100, max: 100, noNaN: true });
    const part = fc.tuple(
      number,
      fc.oneof(number, fc.array(number, { minLength: 3, maxLength: 3 })),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(part, { minLength: 1, maxLength: 6 }), async (parts) => {
        const components = parts.map(([weight, given], i) =>
          rewardFunction(`c${i}`, weight, async () => given),
        );
        const reward = await rewardComposer(components).compose(input);
        const sum = Object.values(reward.breakdown).reduce((a, b) => a + b, 0);
        expect(sum).toBeCloseTo(reward.total, 6);
        const turns = reward.turns.reduce((a, b) => a + b, 0);
        expect(reward.episode + turns).toBeCloseTo(reward.total, 6);
      }),
    );
  });

  it.each<[string, () => unknown, RegExp]>([
    [
      "throws",
      () => {
        throw new Error("no model");
      },
      /reward "mine" of episode 0:t#0: no model/,
    ],
    ["rejects", () => Promise.reject(new Error("gone")), /gone/],
    [
      "throws no error",
      () => {
        throw "odd";
      },
      /odd/,
    ],
    ["gives NaN", () => Number.NaN, /expected finite numbers, got NaN/],
    ["gives nothing", () => undefined, /got undefined/],
    ["gives words", () => "1", /got 1/],
    ["gives too few", () => [1, 2], /2 values for 3 turns/],
    ["gives a hole", () => [1, undefined, 3], /got undefined/],
    ["gives infinity for a turn", () => [1, Infinity, 3], /got Infinity/],
    ["gives an absurd number", () => 1e308, /1e\+308 with a weight of 1 is too large/],
    ["gives one for a turn", () => [1, -1e300, 3], /-1e\+300 with a weight of 1 is too large/],
  ])("says whose fault it is when a component %s", async (_, compute, message) => {
    const composer = rewardComposer([goal(), rewardFunction("mine", 1, compute as () => number)]);
    await expect(composer.compose(input)).rejects.toThrow(RewardError);
    await expect(composer.compose(input)).rejects.toThrow(message);
  });

  it.each([
    ["never answers", () => new Promise<number>(() => {}), /did not answer within 0\.2 s \(reward/],
    [
      "fails in what it does not wait for",
      () => {
        // As Node tells it, without the listeners of the program that runs these tests.
        setTimeout(() => {
          throw new Error("a timer of the reward's");
        }, 0);
        return new Promise<number>((done) => setTimeout(() => done(1), 5000));
      },
      /an exception outside of its calls: a timer of the reward's/,
    ],
  ])("is waited for in vain where a component %s", async (_, compute, message) => {
    const others = process.listeners("uncaughtException");
    process.removeAllListeners("uncaughtException");
    try {
      const seconds = message.source.includes("0\\.2") ? 0.2 : 60;
      const composer = rewardComposer([goal(), rewardFunction("mine", 1, compute)], seconds);
      await expect(composer.compose(input)).rejects.toThrow(message);
      expect(process.listenerCount("uncaughtException")).toBe(0);
    } finally {
      for (const listener of others) process.on("uncaughtException", listener);
    }
  });

  it("tells a component that is too late to stop", async () => {
    let told: AbortSignal | undefined;
    const late = rewardFunction("late", 1, ({ signal }) => {
      told = signal;
      return new Promise<number>(() => {});
    });
    await expect(rewardComposer([late], 0.05).compose(input)).rejects.toThrow(/did not answer/);
    expect(told?.aborted).toBe(true);
  });

  it("refuses a sum that a large weight makes absurd", async () => {
    const composer = rewardComposer([rewardFunction("mine", 1e8, () => 100)]);
    await expect(composer.compose(input)).rejects.toThrow(/100 with a weight of 100000000 is too/);
  });

  it("needs components with names and weights", () => {
    expect(() => rewardComposer([])).toThrow(/no component/);
    expect(() => rewardComposer([goal(), goal()])).toThrow(/two components "goal"/);
    expect(() => rewardComposer([goal(Number.NaN)])).toThrow(/weight of "goal" is NaN/);
  });

  it("leaves an episode out whose reward failed, and keeps the others in their order", async () => {
    const group = [0, 1, 2, 3].map((member) => episode([turn()], { id: `0:t#${member}`, member }));
    const slow = rewardFunction("slow", 1, async ({ trajectory: { member } }) => {
      await new Promise((done) => setTimeout(done, 20 - 5 * member));
      if (member === 1) throw new Error("no");
      return member;
    });
    const { rewards, errors } = await composeGroup(rewardComposer([slow]), group, {
      maximumTurns: 5,
    });
    expect([...rewards].map(([{ member }, { total }]) => [member, total])).toEqual([
      [0, 0],
      [2, 2],
      [3, 3],
    ]);
    expect(errors.map(({ trajectory, component }) => [trajectory, component])).toEqual([
      ["0:t#1", "slow"],
    ]);
  });
});

describe("one reward, from the component to the token", () => {
  it.each(["conversation", "steps"] as const)("in the context %s", async (context) => {
    const other = { ...episode([turn({ tokens: 4 })], { id: "0:t#1", member: 1 }), context };
    const own = { ...three, context };
    const bonus = rewardFunction("bonus", 3, ({ trajectory }) =>
      trajectory.turns.map((_, i) => (trajectory === own && i === 1 ? 7 : 0)),
    );
    const composer = rewardComposer([bonus]);
    const { rewards } = await composeGroup(composer, [other, own], { maximumTurns: 5 });
    const batch = packTrajectories([other, own]);
    const composed = batch.trajectories.map((trajectory) => rewards.get(trajectory)!);
    expect(composed[1]!.breakdown).toEqual({ bonus: 21 });

    const tokens = allocateRewards(batch, composed, { mode: "steps" });
    // The other episode has 3 + 4 tokens; then prompts of 3 and replies of 2: turn 1 ends at 7 + 10.
    const place = 7 + 2 * (3 + 2) - 1;
    expect([...tokens.entries()].filter(([, reward]) => reward !== 0)).toEqual([[place, 21]]);
    expect(batch.rows.mask[place]).toBe(1);
    expect([...stepRewards(batch, composed)]).toEqual([0, 0, 21, 0]);
  });
});
