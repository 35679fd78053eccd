/**
 * @file Every alarm on curves made by hand: raised where it should be, and not on what looks similar and is healthy; said
 * once, again when it gets worse, and once when it is over.
 */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  ALARM_NAMES,
  ALARMS,
  type AlarmName,
  type AlarmOptions,
  fisherAtMost,
  forgetRecent,
  NO_ALARMS,
  watchAlarms,
} from "../../src/evaluation/index.ts";

const OPTIONS: AlarmOptions = {
  maxKl: 10,
  minEntropy: 0.001,
  comparesGroups: true,
  ignored: [],
};

type Line = Readonly<Record<string, number>>;

/** An iteration in which all is well: 64 episodes, half of them won. */
const WELL: Line = {
  "episode/count": 64,
  "episode/success_rate": 0.5,
  "episode/well_formed_ratio": 0.98,
  "episode/taken_action_ratio": 0.95,
  "episode/context_full_ratio": 0,
  "response_length/clip_ratio": 0.01,
  "response_length/loop_ratio": 0,
  "group/size/mean": 8,
  "group/mixed": 6,
  "group/won_above_lost": 1,
  frac_reward_zero_std: 0.25,
  reward_std: 0.5,
  "critic/score/mean": 0.5,
  "rewards/environment": 0.5,
  "rewards/environment/std": 0.5,
  "actor/entropy": 0.5,
  "actor/ppo_kl": 0.01,
  "actor/grad_norm": 0.4,
  "training/fallen_rollouts": 0,
  "training/usable_episodes": 64,
  "training/bad_updates": 0,
  "training/rollout_logprob_diff_max": 1e-5,
};

/** The alarms that begin over these iterations, with the iteration; each line is what differs from a good one. */
function begun(
  lines: readonly Line[],
  options: Partial<AlarmOptions> = {},
  start?: Line,
): string[] {
  let state = NO_ALARMS;
  if (start) state = watchAlarms(state, 0, start, OPTIONS).state;
  return lines.flatMap((line, i) => {
    const watched = watchAlarms(state, i + 1, { ...WELL, ...line }, { ...OPTIONS, ...options });
    // As a checkpoint keeps it.
    state = JSON.parse(JSON.stringify(watched.state)) as typeof state;
    return watched.events
      .filter(({ kind }) => kind === "begins")
      .map(({ name, iteration }) => `${name} ${iteration}`);
  });
}

const times = (count: number, line: Line): Line[] => Array.from({ length: count }, () => line);
const curve = (name: string, ...values: number[]): Line[] =>
  values.map((value) => ({ [name]: value }));

const LOST: Line = {
  "episode/success_rate": 0,
  frac_reward_zero_std: 1,
  "group/mixed": 0,
  "critic/score/mean": 0,
  "rewards/environment": 0,
  "rewards/environment/std": 0,
};

const RAISED: [name: AlarmName, why: string, lines: Line[], when: string[]][] = [
  ["no_success", "five iterations", times(6, LOST), ["no_spread 4", "no_success 5"]],
  [
    "no_success",
    "ten, where rewards differ",
    times(11, { ...LOST, frac_reward_zero_std: 0.1 }),
    ["no_success 10"],
  ],
  [
    "success_fallen",
    "two rollouts",
    [0, 0, 0, 1, 2, 3].map((fallen) => ({
      "training/fallen_rollouts": fallen,
      "episode/success_rate": fallen > 0 ? 0.02 : 0.5,
    })),
    ["success_fallen 5"],
  ],
  [
    "entropy_rising",
    "without winning by it",
    curve("actor/entropy", 0.5, 0.5, 0.6, 0.8, 1, 1.2),
    ["entropy_rising 6"],
  ],
  [
    "entropy_falling",
    "without winning by it",
    curve("actor/entropy", 0.5, 0.5, 0.3, 0.2, 0.1, 0.05),
    ["entropy_falling 6"],
  ],
  ["entropy_falling", "below the least", curve("actor/entropy", 0.0005), ["entropy_falling 1"]],
  [
    "unreadable_replies",
    "three iterations",
    times(4, { "episode/well_formed_ratio": 0.2, "episode/success_rate": 0.1 }),
    ["unreadable_replies 3"],
  ],
  [
    "invalid_actions",
    "three iterations",
    times(4, { "episode/taken_action_ratio": 0.3, "episode/success_rate": 0.1 }),
    ["invalid_actions 3"],
  ],
  [
    "replies_cut",
    "three iterations",
    times(4, { "response_length/clip_ratio": 0.9, "episode/success_rate": 0.1 }),
    ["replies_cut 3"],
  ],
  [
    "context_full",
    "three iterations",
    times(4, { "episode/context_full_ratio": 0.8, "episode/success_rate": 0.1 }),
    ["context_full 3"],
  ],
  [
    "reply_loops",
    "three iterations",
    times(4, { "response_length/loop_ratio": 0.6, "episode/success_rate": 0.1 }),
    ["reply_loops 3"],
  ],
  ["no_spread", "four iterations", times(5, { frac_reward_zero_std: 1 }), ["no_spread 4"]],
  [
    "reward_unrelated",
    "half of the groups",
    times(5, { "group/won_above_lost": 0.5 }),
    ["reward_unrelated 4"],
  ],
  [
    "reward_gamed",
    "reward up, success down",
    [0.5, 0.5, 0.5, 0.4, 0.2, 0.1, 0.1].map((rate, i) => ({
      "episode/success_rate": rate,
      "critic/score/mean": 0.5 + i / 5,
      "rewards/looks": i / 4,
      "rewards/looks/std": 0.2,
    })),
    ["reward_gamed 5"],
  ],
  [
    "component_constant",
    "six iterations",
    times(7, { "rewards/bonus": 0.5, "rewards/bonus/std": 0 }),
    ["component_constant 6"],
  ],
  ["reward_failed", "at once", times(1, { "rewards/speed/failed": 3 }), ["reward_failed 1"]],
  ["kl_spike", "larger than allowed", curve("actor/ppo_kl", 11), ["kl_spike 1"]],
  [
    "kl_spike",
    "far more than usual",
    curve("actor/ppo_kl", 0.02, 0.03, 0.02, 0.03, 0.02, 0.5),
    ["kl_spike 6"],
  ],
  [
    "gradient_spike",
    "of the actor",
    curve("actor/grad_norm", 0.3, 0.4, 0.4, 0.3, 0.4, 9),
    ["gradient_spike 6"],
  ],
  ["logprob_drift", "in the mean", curve("rollout_corr/k3_kl", 1e-7, 0.05), ["logprob_drift 2"]],
  [
    "logprob_drift",
    "of one token",
    curve("training/rollout_logprob_diff_max", 1e-5, 3),
    ["logprob_drift 2"],
  ],
  ["update_skipped", "at once", curve("training/bad_updates", 2), ["update_skipped 1"]],
  ["nothing_played", "at once", curve("training/usable_episodes", 0), ["nothing_played 1"]],
];

describe("raised", () => {
  it.each(RAISED)("%s: %s", (_name, _why, lines, when) => {
    expect(begun(lines)).toEqual(when);
  });

  it("every one of them has a case here", () => {
    const covered = new Set([...RAISED.map(([name]) => name), "validation_below_start"]);
    expect([...covered].sort()).toEqual([...ALARM_NAMES].sort());
  });

  it("validation_below_start: beyond chance, and not by chance", () => {
    const validation = (rate: number) => ({ "val/success_rate": rate, "val/episodes": 100 });
    expect(begun([{}, validation(0.2)], {}, validation(0.5))).toEqual(["validation_below_start 2"]);
    expect(begun([{}, validation(0.35)], {}, validation(0.5))).toEqual([]);
    // Without one before training the first is what later ones are compared with.
    expect(begun([validation(0.5), {}, validation(0.2)])).toEqual(["validation_below_start 3"]);
  });

  it("names the component that drives a reward that is gamed", () => {
    const gamed = RAISED.find(([name]) => name === "reward_gamed")!;
    let state = NO_ALARMS;
    const texts = gamed[2].flatMap((line, i) => {
      const watched = watchAlarms(state, i + 1, { ...WELL, ...line }, OPTIONS);
      state = watched.state;
      return watched.events.map(({ text }) => text);
    });
    expect(texts[0]).toMatch(
      /success fell from .* the component "looks" drives it .*\. That is: .* Try: /,
    );
  });
});

describe("not raised", () => {
  const HEALTHY: [why: string, lines: Line[], options?: Partial<AlarmOptions>][] = [
    [
      "two iterations whose few tasks are all hard",
      [0, 0, 0, 1, 2, 0].map((fallen) => ({
        "training/fallen_rollouts": fallen,
        "episode/success_rate": fallen > 0 ? 0.05 : 0.4,
        "episode/count": 32,
      })),
    ],
    ["a good run", times(20, {})],
    [
      "four iterations without a success",
      [...times(4, { ...LOST, frac_reward_zero_std: 0.5 }), {}],
    ],
    [
      "a few episodes that are not won",
      times(8, { ...LOST, "episode/count": 5, frac_reward_zero_std: 0.5 }),
    ],
    [
      "everything is won, without a choice left",
      times(9, { "episode/success_rate": 1, frac_reward_zero_std: 1, "actor/entropy": 1e-5 }),
    ],
    [
      "entropy falls while success rises",
      [0, 1, 2, 3, 4, 5].map((i) => ({
        "actor/entropy": 0.5 / 2 ** i,
        "episode/success_rate": 0.2 + i / 8,
      })),
    ],
    [
      "entropy rises and wins",
      [0, 1, 2, 3, 4, 5].map((i) => ({
        "actor/entropy": 0.5 + i / 3,
        "episode/success_rate": 0.2 + i / 8,
      })),
    ],
    [
      "replies that become readable",
      [0.1, 0.3, 0.45, 0.6].map((share) => ({
        "episode/well_formed_ratio": share,
        "episode/success_rate": 0.1,
      })),
    ],
    ["invalid actions of an agent that wins", times(6, { "episode/taken_action_ratio": 0.4 })],
    [
      "groups without spread where nothing compares them",
      times(6, { frac_reward_zero_std: 1 }),
      { comparesGroups: false },
    ],
    [
      "a component that is constant later on",
      [
        { "rewards/form": 0.4, "rewards/form/std": 0.1 },
        ...times(9, { "rewards/form": 1, "rewards/form/std": 0 }),
      ],
    ],
    [
      "a critic's gradient that is 0 at first",
      [...times(5, { "critic/grad_norm": 0 }), { "critic/grad_norm": 5 }],
    ],
    [
      "what cannot be measured",
      times(6, { "actor/entropy": Number.NaN, "actor/ppo_kl": Number.NaN }),
    ],
    ["what is ignored", times(6, LOST), { ignored: ["no_success", "no_spread"] }],
    ["anything, where all are", times(6, { ...LOST, "actor/ppo_kl": 99 }), { ignored: ["all"] }],
  ];
  it.each(HEALTHY)("%s", (_why, lines, options) => {
    expect(begun(lines, options)).toEqual([]);
  });
});

it("is said once, again when it is twice as bad, and once when it is over", () => {
  const kls = [0.01, 12, 13, 14, 30, 0.01, 0.01, 0.01, 0.01, 15];
  let state = NO_ALARMS;
  const said: string[] = [];
  const raised: number[] = [];
  for (const [i, kl] of kls.entries()) {
    const watched = watchAlarms(state, i + 1, { ...WELL, "actor/ppo_kl": kl }, OPTIONS);
    state = watched.state;
    said.push(...watched.events.map(({ kind, iteration }) => `${kind} ${iteration}`));
    raised.push(watched.metrics["alarm/kl_spike"]!);
    expect(watched.serious.length > 0).toBe(watched.events.some(({ kind }) => kind !== "over"));
  }
  expect(said).toEqual(["begins 2", "worse 5", "over 8", "begins 10"]);
  expect(raised).toEqual([0, 1, 1, 1, 1, 1, 1, 0, 0, 1]);
  expect(forgetRecent(state)).toMatchObject({ recent: [], raised: {}, first: state.first });
});

it("says what it means and what to try, in words that no setting of verl's tree is needed for", () => {
  for (const name of ALARM_NAMES) {
    const { means, tries } = ALARMS[name];
    expect(`${means} ${tries}`, name).not.toMatch(/actor_rollout_ref|\.$/);
    expect(means.length, name).toBeGreaterThan(30);
    expect(tries.length, name).toBeGreaterThan(30);
  }
});

it("docs/monitoring.md lists every one with its grade and what it means", () => {
  const page = readFileSync(new URL("../../docs/monitoring.md", import.meta.url), "utf8");
  for (const name of ALARM_NAMES) {
    const row = page.split("\n").find((line) => line.startsWith(`| \`${name}\``));
    const [, , grade, means] = (row ?? "").split("|").map((cell) => cell.trim());
    expect({ name, grade, means }).toEqual({
      name,
      grade: ALARMS[name].grade,
      means: ALARMS[name].means,
    });
  }
});

it("a few rewards that fail are said, and end nothing", () => {
  const failing = (count: number) =>
    watchAlarms(NO_ALARMS, 1, { ...WELL, "rewards/judge/failed": count }, OPTIONS);
  expect(failing(2)).toMatchObject({ events: [{ name: "reward_failed" }], serious: [] });
  expect(failing(20).serious).toMatchObject([{ name: "reward_failed" }]);
});

it("Fisher's exact test is the sum over the tables", () => {
  // By hand: 1 of 5 against 4 of 5: tables with 0 or 1 in the first, of C(10, 5) = 252.
  const few = { won: 1, episodes: 5 };
  const many = { won: 4, episodes: 5 };
  expect(fisherAtMost(few, many)).toBeCloseTo((1 * 1 + 5 * 5) / 252, 12);
  expect(fisherAtMost(many, few)).toBeCloseTo(1 - 1 / 252, 12);
  expect(fisherAtMost({ won: 0, episodes: 0 }, many)).toBe(1);
});
