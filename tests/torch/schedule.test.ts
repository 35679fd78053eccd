/**
 * @file Learning-rate schedules at chosen steps, by hand.
 */
import { describe, expect, it } from "vitest";
import { type ScheduleSettings, schedule } from "../../src/torch/index.ts";

const CASES: [string, ScheduleSettings, [step: number, factor: number][]][] = [
  [
    "constant",
    { kind: "constant" },
    [
      [0, 1],
      [1, 1],
      [1e9, 1],
    ],
  ],
  [
    "constant with warm-up",
    { kind: "constant", warmupSteps: 4 },
    [
      [0, 0],
      [1, 0.25],
      [3, 0.75],
      [4, 1],
      [100, 1],
    ],
  ],
  [
    "linear",
    { kind: "linear", totalSteps: 10 },
    [
      [0, 1],
      [1, 0.9],
      [5, 0.5],
      [10, 0],
      [11, 0],
    ],
  ],
  [
    "linear with warm-up",
    { kind: "linear", warmupSteps: 2, totalSteps: 10 },
    [
      [0, 0],
      [1, 0.5],
      [2, 1],
      [6, 0.5],
      [10, 0],
      [99, 0],
    ],
  ],
  [
    "linear to an end factor",
    { kind: "linear", totalSteps: 10, endFactor: 0.2 },
    [
      [0, 1],
      [5, 0.6],
      [10, 0.2],
      [50, 0.2],
    ],
  ],
  [
    "cosine",
    { kind: "cosine", totalSteps: 12 },
    [
      [0, 1],
      [3, 0.5 + Math.SQRT1_2 / 2],
      [4, 0.75],
      [6, 0.5],
      [8, 0.25],
      [12, 0],
      [13, 0],
    ],
  ],
  [
    "cosine with warm-up to an end factor",
    { kind: "cosine", warmupSteps: 10, totalSteps: 20, endFactor: 0.1 },
    [
      [5, 0.5],
      [10, 1],
      [15, 0.55],
      [20, 0.1],
      [30, 0.1],
    ],
  ],
];

it.each(CASES)("%s", (_name, settings, points) => {
  const factor = schedule(settings);
  for (const [step, want] of points) expect(factor(step)).toBeCloseTo(want, 12);
});

it("rises, then never again", () => {
  for (const kind of ["linear", "cosine"] as const) {
    const factor = schedule({ kind, warmupSteps: 7, totalSteps: 50, endFactor: 0.05 });
    for (let step = 0; step < 60; step++) {
      const change = factor(step + 1) - factor(step);
      if (step < 7) expect(change).toBeGreaterThan(0);
      else expect(change).toBeLessThanOrEqual(0);
    }
  }
});

describe("settings that cannot be", () => {
  it.each<[ScheduleSettings, RegExp]>([
    [{ kind: "constant", warmupSteps: -1 }, /warmupSteps must be 0 or more, got -1/],
    [{ kind: "constant", warmupSteps: Number.NaN }, /warmupSteps/],
    [{ kind: "constant", warmupSteps: Infinity }, /warmupSteps/],
    [
      { kind: "linear" },
      /a linear schedule needs totalSteps above warmupSteps \(0\), got undefined/,
    ],
    [{ kind: "cosine", totalSteps: 0 }, /a cosine schedule needs totalSteps above warmupSteps/],
    [{ kind: "cosine", warmupSteps: 10, totalSteps: 10 }, /above warmupSteps \(10\), got 10/],
    [{ kind: "linear", totalSteps: Number.NaN }, /totalSteps/],
    [
      { kind: "step" as "linear", totalSteps: 5 },
      /expected a kind of constant, linear, cosine, got step/,
    ],
  ])("%j", (settings, message) => {
    expect(() => schedule(settings)).toThrow(message);
  });
});
