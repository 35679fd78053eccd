/**
 * @file Credit over branches: the episode's reward for all, a branch's own for itself, step returns inside each.
 */
import { describe, expect, it } from "vitest";
import { stepReturns } from "../../src/algorithms/index.ts";
import {
  allocateRewards,
  environment,
  rewardComposer,
  stepRewards,
} from "../../src/rewards/index.ts";
import {
  checkBatch,
  packTrajectories,
  type Trajectory,
  type Turn,
} from "../../src/rollout/index.ts";

function turn(branch: number | undefined, prompt: number[], ids: number[], reward = 0): Turn {
  const logprobs = ids.map(() => -1);
  return {
    ...{ observation: "o", anchor: `a${prompt[0]}`, messages: [], promptIds: prompt },
    reply: {
      ...{ ids, logprobs, sampledLogprobs: logprobs, text: "", finish: "stop", weightsVersion: 0 },
      source: "policy",
    },
    ...{ action: "x", parts: {}, problems: [], admissible: null, reward, score: 0, info: {} },
    ...(branch !== undefined && { branch }),
    seconds: { generate: 0, step: 0 },
  };
}

function episode(turns: Turn[], outcome: number | undefined): Trajectory {
  return {
    ...{ id: "e", step: 0, group: "g", member: 0, seed: 1n, format: "program" },
    task: { environment: "w", split: "s", id: "t" },
    ...{ context: "conversation", status: "won", won: true, score: 1, turns },
    reward: turns.reduce((sum, { reward }) => sum + reward, outcome ?? 0),
    ...(outcome !== undefined && { outcome }),
    ...{ lastObservation: "", attempts: 1, seconds: 0 },
  };
}

/** Two branches: of two turns, and of one that shares the first turn's ids as its prompt. */
const branched = episode(
  [turn(0, [1, 2], [3, 4]), turn(0, [5], [6]), turn(1, [1, 2, 3, 4, 7], [8, 9], 0.5)],
  2,
);

describe("branches", () => {
  const batch = packTrajectories([branched]);

  it("are rows, and every drawn id is trained once", () => {
    checkBatch(batch);
    expect([...batch.rows.offsets]).toEqual([0, 6, 13]);
    expect([...batch.rows.mask]).toEqual([0, 0, 1, 1, 0, 1, 0, 0, 0, 0, 0, 1, 1]);
    expect([...batch.positions]).toEqual([0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 6]);
    expect([...batch.order]).toEqual([0, 2]);
  });

  it("are each judged by the episode, and by what is theirs", async () => {
    const composer = rewardComposer([environment(10)]);
    const reward = await composer.compose({
      ...{ trajectory: branched, group: [branched], maximumTurns: 5 },
    });
    expect(reward).toMatchObject({ episode: 20, total: 25, breakdown: { environment: 25 } });
    const sums = (mode: "last_token" | "uniform_positive" | "discounted_normalized" | "steps") => {
      const tokens = allocateRewards(batch, [reward], { mode });
      const sum = (from: number, to: number) => tokens.slice(from, to).reduce((a, b) => a + b, 0);
      return [sum(0, 6), sum(6, 13)];
    };
    for (const mode of ["last_token", "uniform_positive", "steps"] as const)
      expect(sums(mode)).toEqual([20, 25]);
    expect(sums("discounted_normalized").map((sum) => sum.toFixed(9))).toEqual(
      [20, 25].map((sum) => sum.toFixed(9)),
    );
    const steps = stepRewards(batch, [reward]);
    expect([...steps]).toEqual([0, 20, 25]);
    const returns = stepReturns(
      { rewards: steps, trajectories: ["0/0", "0/0", "0/1"], order: batch.spans.turn },
      0.5,
    );
    expect([...returns]).toEqual([10, 20, 25]);
  });

  it("change nothing where there is one", async () => {
    const plain = episode([turn(undefined, [1], [2], 1), turn(undefined, [3], [4], 2)], undefined);
    const one = episode([turn(0, [1], [2], 1), turn(0, [3], [4], 2)], 0);
    const composer = rewardComposer([environment(1)]);
    const [a, b] = await Promise.all(
      [plain, one].map((trajectory) =>
        composer.compose({ trajectory, group: [trajectory], maximumTurns: 5 }),
      ),
    );
    expect(a!.total).toBe(3);
    expect(b!.total).toBe(3);
    const allocated = [plain, one].map((trajectory, i) => [
      ...allocateRewards(packTrajectories([trajectory]), [i === 0 ? a! : b!], { mode: "steps" }),
    ]);
    expect(allocated[0]).toEqual(allocated[1]);
  });
});

describe("a reward for both", () => {
  const compose = (value: unknown) =>
    rewardComposer([{ name: "mine", weight: 1, compute: () => value as never }]).compose({
      ...{ trajectory: branched, group: [branched], maximumTurns: 5 },
    });

  it.each([
    [{ episode: 1, turns: [1] }, /1 values for 3 turns/],
    [{ episode: Number.NaN, turns: [1, 2, 3] }, /finite numbers/],
    [{ episode: 1e12, turns: [0, 0, 0] }, /too large/],
    [{ turns: [1, 2, 3] }, /finite numbers/],
    [{}, /finite numbers/],
    [null, /finite numbers/],
  ])("must be numbers: %j", async (value, sentence) => {
    await expect(compose(value)).rejects.toThrow(sentence);
  });
});
