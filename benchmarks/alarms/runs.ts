/**
 * @file The runs by which alarms are measured. Healthy: thirty, as people train. Broken: each in one way that people meet,
 * with the alarms that name it. Thresholds are set by runs of other seeds than those that are reported.
 */

import type { PolicyLossKind } from "../../src/algorithms/index.ts";
import { seededRandom } from "../../src/environments/index.ts";
import type { AlarmName } from "../../src/evaluation/index.ts";
import { rewardFunction, type TrainOptions } from "../../src/library/index.ts";
import type { WorldName } from "./worlds.ts";

export interface BenchRun {
  readonly name: string;
  readonly world: WorldName;
  readonly seed: number;
  readonly iterations: number;
  readonly options: Partial<TrainOptions>;
  /** Times the world's learning rate. */
  readonly rate?: number;
  /** The model is another one than the world's warm one. */
  readonly model?: "without warm start" | "other template" | { readonly warmFor: WorldName };
  /** Episodes are played by other weights than those that are trained. */
  readonly rollout?: "stale" | "without warm start";
  /** Broken: the alarms that name it. Undefined: it is healthy. */
  readonly expected?: readonly AlarmName[];
}

/** Which seeds: `tune` for setting thresholds, `report` for what is claimed. */
export type SeedSet = "tune" | "report";

const SEEDS = { tune: 200, report: 400 } as const;
const ITERATIONS = 12;

const PPO: Partial<TrainOptions> = {
  algorithm: "ppo",
  settings: { critic: { optim: { lr: 3e-3 } } },
};
const ALGORITHMS: Readonly<Record<string, Pick<BenchRun, "options" | "rate">>> = {
  PPO: { options: PPO },
  // Four updates of an iteration's batch move further than one.
  "GRPO, four updates": { options: { algorithm: { name: "grpo", miniBatch: 16 } }, rate: 0.3 },
  GiGPO: { options: { algorithm: "gigpo" } },
  RLOO: { options: { algorithm: "rloo" } },
  GRPO: { options: { algorithm: "grpo" } },
};
const WORLD_NAMES: readonly WorldName[] = [
  ...(["desk", "maze", "wordle", "textcraft", "tools", "household"] as const),
];

/** Six worlds, five algorithms. */
export function healthyRuns(set: SeedSet): BenchRun[] {
  return WORLD_NAMES.flatMap((world, w) =>
    Object.entries(ALGORITHMS).map(([algorithm, how], a) => ({
      ...how,
      name: `${world}, ${algorithm}`,
      world,
      seed: SEEDS[set] + 10 * w + a,
      iterations: ITERATIONS,
    })),
  );
}

/** One for a task that is solved. */
const solved = rewardFunction("solved", 1, ({ trajectory }) => (trajectory.won ? 1 : 0));

/** That of another episode of the group. */
const shuffled = rewardFunction("shuffled", 1, ({ trajectory, group }) => {
  const order = seededRandom("shuffled", trajectory.group).shuffled(group);
  return order[group.indexOf(trajectory)]!.won ? 1 : 0;
});

/** Only tokens of episodes that went badly are learned from: whatever is said is made less likely. */
const wrongMask: PolicyLossKind = {
  name: "wrong-mask",
  tokenLosses: ({ logprobs, advantages, logRatio }) => ({
    losses: advantages.neg().clamp(0).mul(logprobs),
    metrics: { "actor/ppo_kl": logRatio.neg() },
  }),
};

type Broken = Omit<BenchRun, "seed" | "iterations">;

const trainer = (own: Record<string, unknown>) => ({ trainer: { threads: 1, ...own } });

const BROKEN: readonly Broken[] = [
  {
    name: "wrong mask",
    world: "desk",
    options: { algorithm: { name: "grpo", loss: wrongMask }, learningRate: 3e-3 },
    expected: ["entropy_rising", "success_fallen", "validation_below_start"],
  },
  {
    name: "shuffled reward",
    world: "desk",
    options: { algorithm: "grpo", rewards: [shuffled] },
    expected: ["reward_unrelated"],
  },
  {
    name: "learning rate × 30",
    world: "desk",
    options: { algorithm: { name: "grpo", miniBatch: 16 }, learningRate: 3e-2 },
    expected: ["kl_spike", "success_fallen", "entropy_falling", "entropy_rising"],
  },
  {
    name: "many epochs, learning rate × 10",
    world: "desk",
    options: { algorithm: { name: "grpo", miniBatch: 16, epochs: 4 }, learningRate: 1e-2 },
    expected: ["kl_spike", "success_fallen"],
  },
  {
    name: "no signal",
    world: "desk",
    options: { algorithm: "grpo", rewards: [rewardFunction("nothing", 1, () => 0)] },
    expected: ["no_spread"],
  },
  {
    name: "wrong template",
    world: "desk",
    model: "other template",
    options: { algorithm: "gigpo", agent: { format: "react", prompts: "full" } },
    expected: ["unreadable_replies", "replies_cut"],
  },
  {
    name: "truncated context",
    world: "maze",
    options: { algorithm: "grpo", agent: { promptTokens: 300 } },
    expected: ["context_full"],
  },
  {
    name: "truncated replies",
    world: "tools",
    options: { algorithm: "grpo", agent: { replyTokens: 6 } },
    expected: ["replies_cut"],
  },
  {
    name: "stale weights",
    world: "desk",
    rollout: "stale",
    options: {
      algorithm: { name: "grpo", miniBatch: 16 },
      settings: trainer({ logprob_tolerance: 1e9 }),
    },
    expected: ["logprob_drift"],
  },
  {
    name: "rollouts of another model",
    world: "desk",
    rollout: "without warm start",
    options: { algorithm: "grpo", settings: trainer({ logprob_tolerance: 1e9 }) },
    expected: ["logprob_drift"],
  },
  {
    name: "reward hacked through a component",
    world: "desk",
    options: {
      algorithm: "grpo",
      learningRate: 3e-3,
      rewards: [
        solved,
        rewardFunction("looks", 1, ({ trajectory }) =>
          trajectory.turns.map(({ action }) => (action === "open drawer" ? 1 : 0)),
        ),
      ],
    },
    expected: ["reward_gamed", "reward_unrelated"],
  },
  {
    name: "constant component",
    world: "desk",
    options: { algorithm: "gigpo", rewards: [solved, rewardFunction("bonus", 1, () => 0.5)] },
    expected: ["component_constant"],
  },
  {
    name: "component that is not finite",
    world: "desk",
    options: {
      algorithm: "grpo",
      rewards: [
        solved,
        rewardFunction("speed", 0.1, ({ trajectory }) => 1 / (6 - trajectory.turns.length)),
      ],
    },
    expected: ["reward_failed"],
  },
  {
    name: "entropy bonus far too large",
    world: "maze",
    options: { algorithm: { name: "grpo", entropy: 1 } },
    expected: ["entropy_rising"],
  },
  {
    name: "entropy bonus with the wrong sign",
    world: "desk",
    options: { algorithm: { name: "grpo", entropy: -1 } },
    expected: ["entropy_falling"],
  },
  {
    name: "temperature near 0",
    world: "desk",
    options: {
      algorithm: "grpo",
      settings: { actor_rollout_ref: { rollout: { temperature: 0.01 } }, ...trainer({}) },
    },
    expected: ["no_spread"],
  },
  {
    name: "warm start missing",
    world: "desk",
    model: "without warm start",
    options: { algorithm: "gigpo" },
    expected: ["unreadable_replies", "no_success", "replies_cut"],
  },
  {
    name: "warm start of another world",
    world: "maze",
    model: { warmFor: "desk" },
    options: { algorithm: "gigpo" },
    expected: ["invalid_actions", "unreadable_replies", "no_success"],
  },
];

export function brokenRuns(set: SeedSet): BenchRun[] {
  return BROKEN.map((run, i) => ({ ...run, seed: SEEDS[set] + 90 + i, iterations: 10 }));
}
