/**
 * @file Intervals against published numbers and by their meaning; tables of hand-made episodes.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { successReport, successTable, wilson } from "../../src/evaluation/index.ts";
import type { Trajectory } from "../../src/rollout/index.ts";
import { episode, turn } from "../rewards/support.ts";

describe("Wilson's interval", () => {
  it.each([
    // Newcombe 1998, table I.
    [81, 263, 0.2553, 0.3662],
    [15, 148, 0.0624, 0.1605],
    [0, 20, 0, 0.1611],
    [1, 29, 0.0061, 0.1718],
    [29, 29, 0.883, 1],
  ])("of %s in %s", (won, n, low, high) => {
    expect(wilson(won, n).low).toBeCloseTo(low, 4);
    expect(wilson(won, n).high).toBeCloseTo(high, 4);
  });

  it("holds the rates p with |rate − p| ≤ z √(p (1 − p) / n), and only those", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5000 }), fc.nat(), (n, k) => {
        const won = k % (n + 1);
        const { low, high } = wilson(won, n, 1.96);
        for (const p of [low, high].filter((bound) => bound > 0 && bound < 1))
          expect(Math.abs(won / n - p)).toBeCloseTo(1.96 * Math.sqrt((p * (1 - p)) / n), 9);
        expect(low).toBeLessThanOrEqual(won / n);
        expect(high).toBeGreaterThanOrEqual(won / n);
      }),
    );
  });

  it("of nothing says nothing, and of nonsense less", () => {
    expect(wilson(0, 0)).toEqual({ low: 0, high: 1 });
    for (const [won, n] of [
      [2, 1],
      [-1, 5],
      [0.5, 1],
      [0, Number.NaN],
    ] as const)
      expect(() => wilson(won, n)).toThrow(/0 ≤ successes ≤ n/);
  });
});

describe("a success table", () => {
  const one = (type: string | undefined, status: Trajectory["status"], reward = 0) =>
    episode([turn({ reward }), turn({ admissible: reward > 0 })], {
      task: { environment: "w", split: "s", id: "t", ...(type !== undefined && { type }) },
      status,
      won: status === "won",
      score: status === "won" ? 1 : 0,
      reward,
    });
  const all = [
    one("pick", "won", 10),
    one("pick", "turn limit"),
    one("heat", "lost"),
    one("heat", "environment error"),
    one("cool", "aborted"),
  ];

  it("has rates by kind, and leaves out what is not the agent's doing", () => {
    const table = successTable(all);
    expect(table.all).toMatchObject({ episodes: 3, won: 1, rate: 1 / 3, turns: 2 });
    expect(table.all.reward).toBeCloseTo(10 / 3);
    expect(table.all.validity).toBeCloseTo(4 / 6);
    expect(table.types.map(({ type, episodes, won }) => [type, episodes, won])).toEqual([
      ["heat", 1, 0],
      ["pick", 2, 1],
    ]);
    expect(table.leftOut).toBe(2);
    expect(table.statuses).toEqual({
      won: 1,
      "turn limit": 1,
      lost: 1,
      "environment error": 1,
      aborted: 1,
    });
  });

  it("is read by people", () => {
    const text = successReport(successTable(all));
    expect(text).toMatch(/^all +3 +1 +33\.3 % +6\.1 % – 79\.2 % +0\.333 +3\.33 +2\.0 +66\.7 %$/m);
    expect(text).toMatch(/2 of them not the agent's doing/);
  });

  it("of nothing has no rates", () => {
    expect(successTable([]).all.rate).toBeNaN();
    expect(successReport(successTable([]))).toMatch(/ 0 +0 +– /);
  });
});
