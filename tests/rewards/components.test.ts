/**
 * @file Each part of the reward against numbers worked out by hand.
 */
import { describe, expect, it } from "vitest";
import {
  consistency,
  environment,
  exploration,
  format,
  goal,
  invalidActions,
  judge,
  klPenalty,
  lengthPenalty,
  type RewardComponent,
  type RewardInput,
  repetition,
  score,
  timePenalty,
} from "../../src/rewards/index.ts";
import type { Trajectory } from "../../src/rollout/index.ts";
import { episode, turn } from "./support.ts";

const value = (
  component: RewardComponent,
  trajectory: Trajectory,
  rest: Partial<RewardInput> = {},
) => component.compute({ trajectory, group: [trajectory], maximumTurns: 10, ...rest });

const problems = [{ kind: "missing", field: "action", message: "" }] as const;

describe("outcomes", () => {
  const won = episode([turn({ reward: 1 }), turn({ reward: 10 })], { won: true, score: 0.5 });
  it("goal, score, environment", () => {
    expect(value(goal(), won)).toBe(1);
    expect(value(goal(), episode([turn()]))).toBe(0);
    expect(value(goal(1, -1), episode([turn()]))).toBe(-1);
    expect(value(score(), won)).toBe(0.5);
    expect(value(environment(), won)).toEqual([1, 10]);
  });
});

describe("conduct", () => {
  it("time: all turns used cost 1", () => {
    expect(value(timePenalty(), episode([turn(), turn()]))).toEqual([-0.1, -0.1]);
  });

  it("length: what is beyond the maximum, as a share of it", () => {
    const lengths = [10, 100, 150, 300].map((tokens) => turn({ tokens }));
    const of = (options: Parameters<typeof lengthPenalty>[1]) =>
      value(lengthPenalty(1, { maximum: 100, ...options }), episode(lengths)) as number[];
    expect(of({}).map((x) => x + 0)).toEqual([0, 0, -0.5, -2]);
    expect(of({ growth: "quadratic" }).map((x) => x + 0)).toEqual([0, 0, -0.25, -4]);
    expect(of({ growth: "log" })[3]).toBeCloseTo(-Math.log(3), 12);
    expect(of({ minimum: 40 })[0]).toBe(-0.75);
    expect(() => lengthPenalty(1, { maximum: 0 })).toThrow(/0 ≤ minimum ≤ maximum/);
    expect(() => lengthPenalty(1, { growth: "cubic" as "log" })).toThrow(/no growth "cubic"/);
  });

  it("format: the share of replies in the form asked for", () => {
    const mixed = [turn(), turn({ problems }), turn(), turn({ problems })];
    expect(value(format(), episode(mixed))).toBe(0.5);
    expect(value(format(), episode([]))).toBe(0);
  });

  it("invalid actions, by the rule", () => {
    const turns = [turn(), turn({ problems }), turn({ admissible: false })];
    const plus = (values: unknown) => (values as number[]).map((x) => x + 0);
    expect(plus(value(invalidActions(), episode(turns)))).toEqual([0, -1, -1]);
    expect(plus(value(invalidActions(1, "form"), episode(turns)))).toEqual([0, -1, 0]);
    expect(plus(value(invalidActions(1, "admissible"), episode(turns)))).toEqual([0, 0, -1]);
  });

  it("repetition: the same deed in the same state", () => {
    const deeds: [string, string | null, string][] = [
      ["a", "go", ""],
      ["b", "go", ""],
      ["a", "go", ""],
      ["a", null, "hm"],
      ["a", null, "hm"],
      ["a", null, "oh"],
    ];
    const turns = deeds.map(([anchor, action, text]) => turn({ anchor, action, text }));
    expect(value(repetition(), episode(turns))).toEqual([0, 0, -1, 0, -1, 0]);
  });

  it("exploration: new states, shared with whoever of the group saw them", () => {
    const walk = (...anchors: string[]) => episode(anchors.map((anchor) => turn({ anchor })));
    const group = [walk("a", "b", "a", "c"), walk("a", "b"), walk("a", "a")];
    const shares = value(exploration(), group[0]!, { group }) as number[];
    expect(shares[0]).toBeCloseTo(1 / 3, 12);
    expect(shares.slice(1)).toEqual([0.5, 0, 1]);
  });

  it("consistency: the action's words in the plan of the same reply", () => {
    const turns = [
      turn({ action: "open fridge 1", parts: { plan: "I will OPEN the fridge" } }),
      turn({ action: "go", parts: { think: "go" } }),
      turn({ action: "look", parts: { Thought: "nothing" } }),
      turn({ action: "no plan" }),
      turn({ action: null, parts: { plan: "x" } }),
    ];
    expect(value(consistency(), episode(turns))).toBeCloseTo((2 / 3 + 1 + 0) / 3, 12);
    expect(value(consistency(), episode([turn()]))).toBe(0);
  });

  it("KL: per token, and an error where nobody computed it", () => {
    const two = episode([turn({ tokens: 3 }), turn({ tokens: 1 })]);
    expect(value(klPenalty(), two, { kl: 2 })).toBe(-0.5);
    expect(() => value(klPenalty(), two)).toThrow(/no KL to the reference/);
  });
});

describe("a judge", () => {
  const asked: string[] = [];
  const judged = (answer: string, options = {}) =>
    judge(1, {
      ask: async (question) => {
        asked.push(question);
        return answer;
      },
      ...options,
    });
  const one = episode([turn({ observation: "A door.", text: "open it" })], {
    lastObservation: "End.",
  });

  it("gives marks from 0 to 10", async () => {
    expect(await value(judged("<mark>7</mark>"), one)).toBe(0.7);
    expect(await value(judged("I say <mark> 10.0 </mark>."), one)).toBe(1);
    expect(await value(judged(" 5 "), one)).toBe(0.5);
    expect(asked[0]).toMatch(/It saw: A door\.\nIt said: open it\n\nAt the end it saw: End\./);
  });

  it.each(["", "good", "<mark>11</mark>", "<mark>-1</mark>", "7 or 8"])(
    "that answers %j gives none",
    async (answer) => {
      await expect(value(judged(answer), one)).rejects.toThrow(/no mark from 0 to 10/);
    },
  );

  it("is shown the end of a long episode", async () => {
    const long = episode([turn({ observation: "begin" }), turn({ observation: "y".repeat(500) })]);
    await value(judged("1", { longest: 100, rubric: "Was it kind?" }), long);
    expect(asked.at(-1)).toMatch(/Was it kind\?/);
    expect(asked.at(-1)).not.toMatch(/begin/);
  });
});
