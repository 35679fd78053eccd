/**
 * @file GiGPO and HGPO by hand: the specification's vector, in rows that are steps and in rows that are
 * conversations, and what steps, anchors and penalties do at the edge.
 */
import { describe, expect, it } from "vitest";
import {
  agentSpans,
  equalSteps,
  gigpo,
  hgpo,
  type Numbers,
  penalizeInvalidActions,
  type Rows,
  type Spans,
  stepReturns,
  stepsOfRows,
} from "../../src/algorithms/index.ts";

/** trajectory, anchor, step reward, valid, episode score */
const STEPS = [
  ["A", "s0", 0, 1, 10],
  ["A", "s1", 0, 1, 10],
  ["A", "s2", 10, 1, 10],
  ["B", "s0", 0, 1, 0],
  ["B", "s1", 0, 1, 0],
  ["C", "s0", 0, 0, 10],
  ["C", "s3", 10, 1, 10],
] as const;
const ROWS_MEAN = [5.75476, 7.62143, 2.87143, -13.27024, -11.87857, 6.02976, 2.87143];
const ROWS_STD = [1.13139, 1.29674, 0.58963, -2.61779, -2.17092, 1.18132, 0.58963];
const TRAJECTORIES_MEAN = [6.25, 8.11667, 3.36667, -12.775, -11.38333, 6.525, 3.36667];

interface Layout {
  rows: Rows;
  spans: Spans;
  rewards: Float64Array;
  /** [rows] */
  trajectories: string[];
}

/** Each step a row of two tokens and an end of sequence that is not trained. */
function asSteps(): Layout {
  const rows: Rows = {
    offsets: Int32Array.from({ length: STEPS.length + 1 }, (_, row) => 3 * row),
    mask: Uint8Array.from(STEPS.flatMap(() => [1, 1, 0])),
  };
  const rewards = Float64Array.from(STEPS.flatMap(([, , , , score]) => [0, score, 0]));
  return { rows, spans: stepsOfRows(rows), rewards, trajectories: STEPS.map(([id]) => id) };
}

/** Each trajectory a row: a prompt, then two agent tokens and an observation per step. */
function asConversations(): Layout {
  const trajectories = ["A", "B", "C"];
  const mask: number[] = [];
  const rewards: number[] = [];
  const offsets = [0];
  for (const id of trajectories) {
    const steps = STEPS.filter(([trajectory]) => trajectory === id);
    mask.push(0, 0, ...steps.flatMap(() => [1, 1, 0]));
    rewards.push(0, 0, ...steps.flatMap(([, , , , score], i) => [0, i === 0 ? score : 0, 0]));
    offsets.push(mask.length);
  }
  const rows: Rows = { offsets: Int32Array.from(offsets), mask: Uint8Array.from(mask) };
  return { rows, spans: agentSpans(rows), rewards: Float64Array.from(rewards), trajectories };
}

const anchors = STEPS.map(([, anchor]) => anchor);
const ofSteps = STEPS.map(([id]) => id);
const plainReturns = stepReturns({
  rewards: Float64Array.from(STEPS, ([, , reward]) => reward),
  trajectories: ofSteps,
});

/** The advantages of a layout, one per step. */
function advantagesOf(layout: Layout, options: Parameters<typeof gigpo>[1]): number[] {
  const { rows, spans, trajectories } = layout;
  const penalized = penalizeInvalidActions({
    rows,
    spans,
    rewards: layout.rewards,
    stepReturns: plainReturns,
    valid: STEPS.map(([, , , valid]) => valid),
  });
  expectNear(penalized.stepReturns, [9.025, 9.5, 10, 0, 0, 9.4, 10]);
  expectNear(penalized.scores, [10, 10, 10, 0, 0, 9.9, 10]);
  expect(penalized.validRatio).toBeCloseTo(6 / 7);
  const { advantages } = gigpo(
    {
      rows,
      rewards: penalized.rewards,
      groups: trajectories.map(() => "task"),
      trajectories,
      steps: { spans, anchors, returns: penalized.stepReturns, scores: penalized.scores },
    },
    options,
  );
  for (const [token, value] of advantages.entries())
    if (rows.mask[token] === 0) expect(value).toBe(0);
  return Array.from(spans.start, (start) => advantages[start]!);
}

function expectNear(ours: ArrayLike<number>, theirs: readonly number[], digits = 5): void {
  expect(ours.length).toBe(theirs.length);
  for (const [i, value] of theirs.entries()) expect(ours[i]).toBeCloseTo(value, digits);
}

describe.each([
  ["rows that are steps", asSteps],
  ["rows that are conversations", asConversations],
])("the specification's vector, %s", (_, layout) => {
  it("rows, mean_norm", () => expectNear(advantagesOf(layout(), {}), ROWS_MEAN));
  it("rows, mean_std_norm", () =>
    expectNear(advantagesOf(layout(), { mode: "mean_std_norm" }), ROWS_STD));
  it("trajectories, mean_norm", () =>
    expectNear(advantagesOf(layout(), { episodeStatistics: "trajectories" }), TRAJECTORIES_MEAN));
  it("without the step part", () => {
    const episode = advantagesOf(layout(), { stepAdvantageWeight: 0 });
    expectNear(
      episode,
      [10, 10, 10, 0, 0, 9.9, 10].map((score) => score - 49.9 / 7),
    );
  });
});

describe("the penalty", () => {
  it("stands on the last trained token of the step, in either layout", () => {
    for (const { rows, spans, rewards } of [asSteps(), asConversations()]) {
      const valid = STEPS.map(([, , , one]) => one === 1);
      const after = penalizeInvalidActions({ rows, spans, rewards, valid }, 0.5).rewards;
      const changed = after.map((value, token) => value - rewards[token]!);
      const place = spans.start[5]! + 1;
      expect(Array.from(changed.entries()).filter(([, value]) => value !== 0)).toEqual([
        [place, -0.5],
      ]);
    }
  });

  it("has nowhere to stand on a step without trained tokens", () => {
    const rows: Rows = { offsets: Int32Array.from([0, 1]), mask: Uint8Array.from([0]) };
    const rewards = new Float64Array(1);
    const penalized = penalizeInvalidActions({
      rows,
      spans: stepsOfRows(rows),
      rewards,
      valid: [0],
    });
    expect(Array.from(penalized.rewards)).toEqual([0]);
    expect(Array.from(penalized.stepReturns)).toEqual([-0.1]);
  });
});

describe("step returns", () => {
  it("follow the order of time, not of rows", () => {
    const rewards = Float64Array.from([4, 1, 2]);
    const input = { rewards, trajectories: ["a", "a", "a"], order: [2, 0, 1] };
    expectNear(stepReturns(input, 0.5), [4, 1 + 0.5 * (2 + 0.5 * 4), 4]);
  });

  it("refuse two steps at one time, and rewards that are not finite", () => {
    const rewards = new Float64Array(2);
    const trajectories = ["a", "a"];
    expect(() => stepReturns({ rewards, trajectories, order: [3, 3] })).toThrow(
      /trajectory a has two steps at place 3 in time/,
    );
    const bad = Float64Array.from([0, Number.NaN]);
    expect(() => stepReturns({ rewards: bad, trajectories })).toThrow(
      /step reward of row 1 is NaN/,
    );
  });
});

describe("anchors", () => {
  const sameTask = (count: number) => new Int32Array(count);
  const groupsOf = (list: readonly unknown[]) =>
    Array.from(equalSteps(list, sameTask(list.length)).groupOf);

  it("are equal by value: arrays by element, objects by key", () => {
    expect(groupsOf([1, "1", true, 1, "1", true, -0, 0])).toEqual([0, 1, 2, 0, 1, 2, 3, 3]);
    expect(groupsOf([[1, [2]], Float32Array.from([1, 2]), [1, 2], [1, [2]]])).toEqual([0, 1, 1, 0]);
    expect(groupsOf([{ a: 1, b: [2] }, { b: [2], a: 1 }, { a: 1 }])).toEqual([0, 0, 1]);
    expect(groupsOf(['\u0000"x"', ["x"], "\u0000text:", "\u0000"])).toEqual([0, 1, 2, 3]);
  });

  it("do not join tasks", () => {
    const { groupOf, count } = equalSteps(["a", "a", "a"], Int32Array.from([0, 1, 0]));
    expect(Array.from(groupOf)).toEqual([0, 1, 0]);
    expect(count).toBe(2);
  });

  it.each([[null], [undefined], [Number.NaN], [new Date(0)], [[() => 1]], [{ a: 1n }]])(
    "refuse %s",
    (anchor) => {
      expect(() => groupsOf(["a", anchor])).toThrow(
        /anchor of step 1 contains .*; expected numbers/,
      );
    },
  );

  it("are told apart also when they agree in length and in every sampled character", () => {
    const base = "x".repeat(2400);
    const texts = Array.from(
      { length: 60 },
      (_, i) => `${base.slice(0, 3 + i)}y${base.slice(4 + i)}`,
    );
    const doubled = [...texts, ...texts];
    expect(groupsOf(doubled)).toEqual(doubled.map((text) => texts.indexOf(text)));
  });
});

describe("input that does not fit", () => {
  const { rows, spans, rewards, trajectories } = asSteps();
  const groups = trajectories.map(() => 0);
  const good = { rows, rewards, groups, trajectories };
  const steps = { spans, anchors, returns: plainReturns as Numbers };

  it("is refused with the reason", () => {
    expect(() => gigpo({ ...good, steps: { ...steps, anchors: ["s"] } })).toThrow(
      /gigpo: anchors has 1 entries, expected 7/,
    );
    const outside = { ...spans, end: spans.end.map((end, i) => (i === 2 ? end + 1 : end)) };
    expect(() => gigpo({ ...good, steps: { ...steps, spans: outside } })).toThrow(
      /step 2 covers the tokens 6 to 10, which is not inside its row 2/,
    );
    const twice = {
      row: Int32Array.from([0, 0]),
      start: Int32Array.from([0, 1]),
      end: Int32Array.from([2, 3]),
    };
    expect(() =>
      gigpo({ ...good, steps: { spans: twice, anchors: [1, 2], returns: new Float64Array(2) } }),
    ).toThrow(/step 1 starts at token 1, inside another step/);
    const returns = Float64Array.from(plainReturns, (value, i) => (i === 4 ? 1 / 0 : value));
    expect(() => gigpo({ ...good, steps: { ...steps, returns } })).toThrow(
      /step return of row 4 is Infinity/,
    );
    expect(() => gigpo({ ...good, steps }, { similarity: 1 })).toThrow(/threshold is 1, expected/);
    const numbers = { ...steps, anchors: STEPS.map((_, i) => i) };
    expect(() => gigpo({ ...good, steps: numbers }, { similarity: 0.9 })).toThrow(
      /anchor of step 0 is not a text/,
    );
    expect(() => gigpo({ ...good, steps }, { mode: "median" as "mean_norm" })).toThrow(
      /unknown mode median/,
    );
    expect(() => hgpo({ ...good, steps }, { historyLength: -1 })).toThrow(/history length is -1/);
  });
});

describe("hgpo", () => {
  it("with no history and no deviation is GiGPO's step part, up to its ε", () => {
    const { rows, spans, rewards, trajectories } = asSteps();
    const input = {
      rows,
      rewards: rewards.map(() => 0),
      groups: trajectories.map(() => 0),
      trajectories,
      steps: { spans, anchors, returns: plainReturns },
    };
    const ours = hgpo(input, { historyLength: 0, mode: "mean_norm" }).advantages;
    expectNear(ours, Array.from(gigpo(input).advantages), 4);
  });
});
