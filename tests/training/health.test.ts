/**
 * @file When a policy counts as ruined: not by chance, not by rising and falling as healthy runs do, and
 * always when it has lost what it could.
 */
import { describe, expect, it } from "vitest";
import { seededRandom } from "../../src/environments/index.ts";
import { binomialAtMost } from "../../src/evaluation/index.ts";
import {
  afterRollout,
  afterUpdate,
  divergence,
  type Health,
  type Played,
} from "../../src/training/loop/health.ts";

const NOT_PLAYED: Played = { won: 0, episodes: 0 };

/** A run whose policy solves such shares of its tasks, seen in rollouts of so many episodes. */
function runOf(rates: readonly number[], episodes: number, seed: number): Health | undefined {
  const random = seededRandom("health", seed, episodes);
  return rates.reduce<Health | undefined>((health, rate, i) => {
    const won = Array.from({ length: episodes }, () => random.chance(rate)).filter(Boolean).length;
    return afterRollout(health, i + 1, { won, episodes });
  }, undefined);
}

it("the binomial tail equals a sum over all outcomes", () => {
  for (const n of [1, 5, 12])
    for (const p of [0, 0.05, 0.5, 0.93, 1])
      for (let most = 0; most <= n; most++) {
        let sum = 0;
        for (let outcome = 0; outcome < 2 ** n; outcome++) {
          const ones = outcome.toString(2).replaceAll("0", "").length;
          if (ones <= most) sum += p ** ones * (1 - p) ** (n - ones);
        }
        expect(binomialAtMost(most, n, p)).toBeCloseTo(sum, 12);
      }
  expect(binomialAtMost(2500, 5000, 0.5)).toBeCloseTo(0.50564, 5);
});

describe("healthy runs", () => {
  const steady = (rate: number) => Array.from({ length: 60 }, () => rate);
  const rising = Array.from({ length: 60 }, (_, i) => 0.05 + (0.9 * i) / 60);
  const wavering = Array.from({ length: 60 }, (_, i) => 0.5 + 0.15 * Math.sin(i));

  it.each([
    ["never solves anything", steady(0)],
    ["solves one in seven", steady(0.15)],
    ["solves half", steady(0.5)],
    ["rises", rising],
    ["wavers", wavering],
  ])("one that %s is not called diverged, by whatever chance", (_, rates) => {
    let called = 0;
    for (const episodes of [8, 16, 64, 128])
      for (let seed = 0; seed < 250; seed++)
        if (divergence(runOf(rates, episodes, seed), NOT_PLAYED)) called++;
    expect(called).toBe(0);
  });

  it("a collapse to always the same answer is none where the answer is right", () => {
    const health = runOf(steady(1), 16, 0);
    expect(divergence(afterUpdate(health, false), NOT_PLAYED)).toBeUndefined();
  });
});

describe("ruined ones", () => {
  const fallen = [...Array.from({ length: 10 }, () => 0.6), 0, 0, 0];

  it("are named, with the last iteration that played well", () => {
    for (let seed = 0; seed < 100; seed++) {
      const health = runOf(fallen, 16, seed)!;
      expect(health).toMatchObject({ step: 9, fallen: 3 });
      expect(divergence(health, NOT_PLAYED)).toMatch(/solves far fewer tasks than the \d+ % .* 9$/);
    }
  });

  it("unless they are well again", () => {
    expect(divergence(runOf([...fallen, 0.5, 0.5], 64, 1), NOT_PLAYED)).toBeUndefined();
  });

  it("an update that ran away: what is played afterwards decides", () => {
    const health = afterUpdate(runOf([0.5, 0.5, 0.5], 64, 1), true)!;
    expect(divergence(health, NOT_PLAYED)).toMatch(/further than trainer.max_kl/);
    expect(divergence(health, { won: 40, episodes: 100 })).toBeUndefined();
    expect(divergence(health, { won: 4, episodes: 100 })).toMatch(/far fewer/);
    expect(afterRollout(health, 5, { won: 30, episodes: 64 })).toMatchObject({ suspect: false });
    expect(afterRollout(health, 5, { won: 5, episodes: 64 })).toMatchObject({ fallen: 1, step: 2 });
  });

  it("an outage of the world says nothing of the policy", () => {
    const health = runOf([0.5, 0.5], 64, 1)!;
    expect(afterRollout(health, 3, NOT_PLAYED)).toBe(health);
  });
});
