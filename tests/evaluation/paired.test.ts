/**
 * @file Two models compared, and how fast a run learned: against sums over all outcomes, and by hand.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { comparePaired, convergence, signTest } from "../../src/evaluation/index.ts";
import type { Trajectory } from "../../src/rollout/index.ts";

/** C(n, k) / 2ⁿ, summed over every outcome that is as unlikely as this one or more. */
function byAllOutcomes(b: number, c: number): number {
  const n = b + c;
  const chance = (k: number) => {
    let value = 0.5 ** n;
    for (let i = 0; i < k; i++) value *= (n - i) / (i + 1);
    return value;
  };
  let sum = 0;
  for (let k = 0; k <= n; k++) if (Math.abs(k - n / 2) >= Math.abs(b - n / 2)) sum += chance(k);
  return Math.min(1, sum);
}

describe("the sign test", () => {
  it("is the sum over all outcomes", () => {
    const count = fc.integer({ min: 0, max: 40 });
    fc.assert(
      fc.property(count, count, (b, c) => {
        expect(signTest(b, c)).toBeCloseTo(byAllOutcomes(b, c), 10);
        expect(signTest(c, b)).toBe(signTest(b, c));
      }),
    );
  });

  it("stands large numbers", () => {
    expect(signTest(0, 0)).toBe(1);
    expect(signTest(3000, 3000)).toBe(1);
    expect(signTest(0, 3000)).toBe(0);
    expect(signTest(1400, 1600)).toBeCloseTo(0.00028, 5);
  });
});

const episode = (task: string, won: boolean, status = won ? "won" : "turn limit") =>
  ({ task: { id: task }, won, status }) as unknown as Trajectory;

describe("a paired comparison", () => {
  it("counts tasks that both played, and each once", () => {
    const first = [
      ...[episode("a", false), episode("b", true), episode("c", false), episode("d", true)],
      ...[episode("e", false), episode("e", true), episode("only", true)],
    ];
    const second = [
      ...[episode("a", true), episode("b", true), episode("c", false), episode("d", false)],
      ...[episode("e", true), episode("e", true)],
    ];
    expect(comparePaired(first, second)).toEqual({
      tasks: 5,
      better: 2,
      worse: 1,
      difference: (1 + 0 + 0 - 1 + 0.5) / 5,
      pValue: 1,
    });
  });

  it("does not blame a model for a world that failed", () => {
    const failed = episode("a", false, "environment error");
    const result = comparePaired(
      [episode("a", true), episode("b", true)],
      [failed, episode("b", true)],
    );
    expect(result).toMatchObject({ tasks: 1, worse: 0 });
    expect(() => comparePaired([episode("a", true)], [failed])).toThrow(/no task in common/);
  });
});

describe("convergence", () => {
  it("is the first validation that reached a rate", () => {
    const rates = [0.1, undefined, 0.5, undefined, 0.4, 0.9];
    const metrics = rates.map((rate, step) => ({
      step,
      time: 0,
      metrics: {
        ...(rate !== undefined && { "val/success_rate": rate }),
        "training/episodes": 10 * step,
        "timing_s/step": 60,
      },
    }));
    expect(convergence(metrics, [0.05, 0.5, 0.6, 0.95])).toEqual([
      { successRate: 0.05, step: 0, episodes: 0, minutes: 1 },
      { successRate: 0.5, step: 2, episodes: 20, minutes: 3 },
      { successRate: 0.6, step: 5, episodes: 50, minutes: 6 },
      { successRate: 0.95 },
    ]);
  });
});
