/**
 * @file From trajectories to advantages: the specification's GiGPO vector through allocation, penalty and
 * estimator in both contexts; KL in the reward; batches of several processes as one.
 */
import { describe, expect, it } from "vitest";
import { klController } from "../../src/algorithms/index.ts";
import { resolveConfig } from "../../src/config/index.ts";
import { composeGroup, rewardComposer } from "../../src/rewards/index.ts";
import {
  type Batch,
  packTrajectories,
  type Trajectory,
  type Turn,
} from "../../src/rollout/index.ts";
import { joinRanks, type Ranks, type TrainingOptions } from "../../src/training/index.ts";
import { estimateAdvantages } from "../../src/training/loop/advantages.ts";
import { largestDifference, optionsOf } from "./support/runs.ts";

type Step = readonly [anchor: string, reward: number, valid: boolean];

/** Each turn has two tokens of prompt and three of reply. */
function trajectory(
  id: string,
  steps: readonly Step[],
  context: Trajectory["context"],
  group = "g",
): Trajectory {
  const turns = steps.map(([anchor, reward, valid], turn): Turn => {
    const ids = [5, 6 + turn, 7];
    const logprobs = ids.map((one) => -one / 10);
    return {
      observation: anchor,
      anchor,
      messages: [],
      promptIds: [1, 2],
      reply: {
        ids,
        logprobs,
        sampledLogprobs: logprobs,
        text: "",
        finish: "stop",
        weightsVersion: 0,
        source: "policy",
      },
      action: "go",
      parts: {},
      problems: valid ? [] : [{ kind: "missing", message: "no action" } as never],
      admissible: true,
      reward,
      score: reward > 0 ? 1 : 0,
      info: {},
      seconds: { generate: 0, step: 0 },
    };
  });
  const won = steps.at(-1)![1] > 0;
  return {
    id,
    step: 1,
    group,
    member: 0,
    task: { environment: "x", split: "train", id: group },
    seed: 1n,
    format: "action",
    context,
    status: won ? "won" : "turn limit",
    won,
    score: won ? 1 : 0,
    reward: steps.reduce((sum, [, reward]) => sum + reward, 0),
    turns,
    lastObservation: "",
    attempts: 1,
    seconds: 0,
  };
}

const A: readonly Step[] = [
  ["s0", 0, true],
  ["s1", 0, true],
  ["s2", 10, true],
];
const B: readonly Step[] = [
  ["s0", 0, true],
  ["s1", 0, true],
];
const C: readonly Step[] = [
  ["s0", 0, false],
  ["s3", 10, true],
];

function vector(context: Trajectory["context"]): Trajectory[] {
  return [trajectory("A", A, context), trajectory("B", B, context), trajectory("C", C, context)];
}

const alone = joinRanks();
const fixed = klController({ type: "fixed", coefficient: 0.5 });

async function estimate(
  trajectories: readonly Trajectory[],
  settings: readonly string[],
  more: Partial<Parameters<typeof estimateAdvantages>[1]> = {},
  ranks: Ranks = alone,
) {
  const { config } = resolveConfig({ overrides: [...settings, "env.validity=form"] });
  const batch = packTrajectories(trajectories, { validity: "form" });
  const options = await optionsOf(config);
  const rewards = await rewardsOf(options, trajectories);
  return {
    batch,
    ...estimateAdvantages(batch, { rewards, ...more }, options.advantages, fixed, ranks),
  };
}

async function rewardsOf(options: TrainingOptions, trajectories: readonly Trajectory[]) {
  const composer = rewardComposer(options.rewards);
  const { rewards } = await composeGroup(composer, trajectories, { maximumTurns: 50 });
  return trajectories.map((trajectory) => rewards.get(trajectory)!);
}

/** The advantage of each span, which must be the same on all its tokens and 0 elsewhere. */
function bySpan({ spans, rows }: Batch, advantages: Float64Array): number[] {
  expect(advantages.every((value, token) => rows.mask[token] === 1 || value === 0)).toBe(true);
  return Array.from(spans.start, (start, i) => {
    const own = [...advantages.slice(start, spans.end[i])];
    expect(new Set(own).size).toBe(1);
    return own[0]!;
  });
}

describe("the specification's GiGPO vector, from trajectories", () => {
  const vectors: [settings: string[], steps: number[]][] = [
    [
      ["algorithm.gigpo.mode=mean_norm"],
      [5.75476, 7.62143, 2.87143, -13.27024, -11.87857, 6.02976, 2.87143],
    ],
    [
      ["algorithm.gigpo.mode=mean_std_norm"],
      [1.13139, 1.29674, 0.58963, -2.61779, -2.17092, 1.18132, 0.58963],
    ],
    [
      ["algorithm.gigpo.mode=mean_norm", "algorithm.gigpo.episode_stats=trajectories"],
      [6.25, 8.11667, 3.36667, -12.775, -11.38333, 6.525, 3.36667],
    ],
  ];
  it.each(vectors)("steps, %s", async (settings, expected) => {
    const { batch, advantages, metrics } = await estimate(vector("steps"), [
      "algorithm.adv_estimator=gigpo",
      "env.context=steps",
      ...settings,
    ]);
    expect(largestDifference(bySpan(batch, advantages), expected)).toBeLessThan(1e-5);
    expect(metrics["episode/valid_action_ratio"]).toBeCloseTo(6 / 7, 10);
  });

  it.each(vectors)("conversation, %s", async (settings, expected) => {
    const { batch, advantages } = await estimate(vector("conversation"), [
      "algorithm.adv_estimator=gigpo",
      ...settings,
    ]);
    const got = bySpan(batch, advantages);
    expect(largestDifference(got, expected)).toBeLessThan(1e-5);
  });
});

describe("KL in the reward", () => {
  it("is taken off every trained token, and moves the controller", async () => {
    const some = vector("conversation");
    const batch = packTrajectories(some, { validity: "form" });
    const oldLogprobs = batch.logprobs;
    const referenceLogprobs = oldLogprobs.map((value, i) => (batch.rows.mask[i] ? value - 0.2 : 0));
    const settings = [
      "algorithm.adv_estimator=gae",
      "algorithm.use_kl_in_reward=True",
      "actor_rollout_ref.actor.use_invalid_action_penalty=False",
    ];
    const values = new Float64Array(batch.ids.length);
    const with_ = await estimate(some, settings, { oldLogprobs, referenceLogprobs, values });
    // γ = λ = 1 and values 0: the return of a token is what is still to come.
    for (const [row, { turns, reward }] of some.entries()) {
      const first = batch.spans.start[batch.spans.row.indexOf(row)]!;
      const tokens = 3 * turns.length;
      expect(with_.returns[first]).toBeCloseTo(reward - 0.5 * 0.2 * tokens, 9);
    }
    expect(with_.metrics["actor/reward_kl_penalty"]).toBeCloseTo(0.2, 9);
    expect(with_.klController.coefficient).toBe(0.5);
  });
});

describe("several processes", () => {
  /** Two processes in one: what each has sent, in order, is given. */
  function pretended(rank: number, parts: readonly (readonly unknown[])[]): Ranks {
    let calls = 0;
    return {
      ...alone,
      rank,
      size: parts.length,
      isFirst: rank === 0,
      gather: <Value>() => {
        const call = calls++;
        return parts.map((sent) => sent[call]) as Value[];
      },
    };
  }

  it.each(["gigpo", "grpo", "gae", "rloo", "reinforce_plus_plus_baseline"])(
    "%s of the parts is that of the whole",
    async (estimator) => {
      const all = [
        ...vector("conversation"),
        trajectory("D", C, "conversation", "h"),
        trajectory("E", B, "conversation", "h"),
      ];
      const parts = [all.slice(0, 3), all.slice(3)];
      const settings = [
        `algorithm.adv_estimator=${estimator}`,
        "algorithm.whiten_rewards=True",
        "env.rollout.n=3",
      ];
      const valuesOf = (some: readonly Trajectory[]) =>
        packTrajectories(some).logprobs.map((value) => value / 3);
      const whole = await estimate(all, settings, { values: valuesOf(all) });
      // What each process would send, caught on its way.
      const sent: unknown[][] = [];
      for (const part of parts) {
        const own: unknown[] = [];
        sent.push(own);
        await estimate(
          part,
          settings,
          { values: valuesOf(part) },
          {
            ...alone,
            size: 2,
            gather: <Value>(value: Value) => {
              own.push(value);
              return [value];
            },
          },
        );
      }
      const joined: number[] = [];
      const returns: number[] = [];
      for (const [rank, part] of parts.entries()) {
        const mine = await estimate(
          part,
          settings,
          { values: valuesOf(part) },
          pretended(rank, sent),
        );
        joined.push(...mine.advantages);
        returns.push(...mine.returns);
      }
      expect(largestDifference(joined, whole.advantages)).toBeLessThan(1e-12);
      expect(largestDifference(returns, whole.returns)).toBeLessThan(1e-12);
    },
  );
});
