/**
 * @file From an episode's reward to its tokens: cases worked out by hand, and what is conserved.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  ALLOCATIONS,
  type Allocation,
  allocateRewards,
  type ComposedReward,
  stepRewards,
} from "../../src/rewards/index.ts";
import { packTrajectories } from "../../src/rollout/index.ts";
import { episode, turn } from "./support.ts";

const reward = (episodeReward: number, turns: readonly number[]): ComposedReward => ({
  episode: episodeReward,
  turns: Float64Array.from(turns),
  total: episodeReward + turns.reduce((a, b) => a + b, 0),
  breakdown: {},
});

type Context = "conversation" | "steps";

/** Replies of these lengths, with prompts of one token; only the replies' tokens are given. */
function allocate(
  lengths: readonly number[],
  given: ComposedReward,
  mode: Allocation,
  { gamma = 1, context = "conversation" as Context } = {},
): number[][] {
  const one = episode(
    lengths.map((tokens) => turn({ tokens, prompt: 1 })),
    { context },
  );
  const batch = packTrajectories([one]);
  const tokens = allocateRewards(batch, [given], { mode, gamma });
  for (const [i, value] of tokens.entries()) if (batch.rows.mask[i] === 0) expect(value).toBe(0);
  return lengths.map((_, i) => [...tokens.subarray(batch.spans.start[i], batch.spans.end[i])]);
}

describe("by hand", () => {
  const six = reward(6, [0, 0]);

  it.each<[Allocation, number, number[][]]>([
    [
      "last_token",
      1,
      [
        [0, 0],
        [0, 0, 0, 6],
      ],
    ],
    [
      "uniform_positive",
      1,
      [
        [1, 1],
        [1, 1, 1, 1],
      ],
    ],
    // As published: with γ = 1 every span gets all of it.
    [
      "discounted",
      1,
      [
        [3, 3],
        [1.5, 1.5, 1.5, 1.5],
      ],
    ],
    // The first gets 6 · 0.5⁴.
    [
      "discounted",
      0.5,
      [
        [0.1875, 0.1875],
        [1.5, 1.5, 1.5, 1.5],
      ],
    ],
    [
      "discounted_normalized",
      1,
      [
        [1.5, 1.5],
        [0.75, 0.75, 0.75, 0.75],
      ],
    ],
    [
      "discounted",
      0,
      [
        [0, 0],
        [1.5, 1.5, 1.5, 1.5],
      ],
    ],
    [
      "steps",
      1,
      [
        [0, 0],
        [0, 0, 0, 6],
      ],
    ],
  ])("%s with gamma %s", (mode, gamma, expected) => {
    expect(allocate([2, 4], six, mode, { gamma })).toEqual(expected);
  });

  it("uniform_positive puts what is not positive on the last token", () => {
    expect(allocate([2, 2], reward(-3, [0, 0]), "uniform_positive")).toEqual([
      [0, 0],
      [0, -3],
    ]);
    expect(allocate([2, 2], reward(0, [0, 0]), "uniform_positive")).toEqual([
      [0, 0],
      [0, 0],
    ]);
  });

  it("steps puts each turn's reward on its last token, the episode's on the last of all", () => {
    const given = reward(10, [1, 2, 3]);
    expect(allocate([1, 2, 2], given, "steps")).toEqual([[1], [0, 2], [0, 13]]);
    expect(allocate([1, 2, 2], given, "steps", { context: "steps" })).toEqual([
      [1],
      [0, 2],
      [0, 13],
    ]);
  });

  it("rows of steps are judged by their episode, each alone, where verl-agent does so", () => {
    const context = "steps";
    expect(allocate([1, 2], six, "last_token", { context })).toEqual([[6], [0, 6]]);
    expect(allocate([1, 2], six, "uniform_positive", { context })).toEqual([[6], [3, 3]]);
    expect(allocate([1, 2], six, "discounted_normalized", { context })).toEqual([[3], [1.5, 1.5]]);
  });

  it("a reply without tokens can carry nothing: the one before it does", () => {
    expect(allocate([2, 0], reward(5, [1, 2]), "steps")).toEqual([[0, 8], []]);
    expect(allocate([0, 2], reward(5, [1, 2]), "steps")).toEqual([[], [0, 8]]);
    expect(allocate([2, 0], reward(5, [1, 2]), "last_token")).toEqual([[0, 8], []]);
    expect(allocate([0, 0], reward(5, [1, 2]), "last_token")).toEqual([[], []]);
  });
});

describe("in general", () => {
  const finite = fc.double({ min: -50, max: 50, noNaN: true });
  const cases = fc
    .array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 6 })
    .chain((lengths) =>
      fc.record({
        lengths: fc.constant(lengths),
        whole: finite,
        turns: fc.array(finite, { minLength: lengths.length, maxLength: lengths.length }),
        gamma: fc.double({ min: 0, max: 1, noNaN: true }),
      }),
    );
  const sumOf = (tokens: number[][]) => tokens.flat().reduce((a, b) => a + b, 0);

  it.each<[Allocation, Context]>([
    ["last_token", "conversation"],
    ["uniform_positive", "conversation"],
    ["discounted_normalized", "conversation"],
    ["discounted_normalized", "steps"],
    ["steps", "conversation"],
    ["steps", "steps"],
  ])("%s in %s hands out exactly the reward", (mode, context) => {
    fc.assert(
      fc.property(cases, ({ lengths, whole, turns, gamma }) => {
        const given = reward(whole, turns);
        const tokens = allocate(lengths, given, mode, { gamma, context });
        expect(sumOf(tokens)).toBeCloseTo(given.total, 8);
      }),
    );
  });

  it("discounted hands out R · Σ γ^(tokens after the span)", () => {
    fc.assert(
      fc.property(cases, ({ lengths, whole, gamma }) => {
        const tokens = allocate(lengths, reward(whole, []), "discounted", { gamma });
        const after = lengths.map((_, k) => lengths.slice(k + 1).reduce((a, b) => a + b, 0));
        const expected = whole * after.reduce((sum, n) => sum + gamma ** n, 0);
        expect(sumOf(tokens)).toBeCloseTo(expected, 6);
      }),
    );
  });

  it("step rewards sum up to the episodes' rewards", () => {
    fc.assert(
      fc.property(cases, ({ lengths, whole, turns }) => {
        const one = episode(lengths.map((tokens) => turn({ tokens })));
        const steps = stepRewards(packTrajectories([one]), [reward(whole, turns)]);
        expect(steps.reduce((a, b) => a + b, 0)).toBeCloseTo(reward(whole, turns).total, 8);
      }),
    );
  });

  it("does not mix episodes up", () => {
    const episodes = [1, 2, 3].map((tokens) => episode([turn({ tokens })], { id: `${tokens}` }));
    const batch = packTrajectories(episodes);
    const tokens = allocateRewards(batch, [reward(1, [0]), reward(2, [0]), reward(3, [0])]);
    const ends = [...batch.spans.end].map((end) => tokens[end - 1]);
    expect(ends).toEqual([1, 2, 3]);
  });

  it("is not guessed at", () => {
    const batch = packTrajectories([episode([turn()])]);
    const [given] = [reward(1, [0])];
    expect(() => allocateRewards(batch, [given], { mode: "first" as Allocation })).toThrow(
      `there is no allocation "first"; there are ${ALLOCATIONS.join(", ")}`,
    );
    expect(() => allocateRewards(batch, [given], { gamma: 1.5 })).toThrow(
      /gamma must be from 0 to 1/,
    );
    expect(() => allocateRewards(batch, [])).toThrow(/0 rewards for 1 episodes/);
  });
});
