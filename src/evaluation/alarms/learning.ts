/**
 * @file Alarms about what comes of learning: nothing is ever won, the policy plays worse than it did, it stops exploring or
 * only does.
 */
import { fisherAtMost } from "../binomial.ts";
import {
  type Alarm,
  type AlarmName,
  lasting,
  meanOf,
  percent,
  type Reading,
  type Seen,
  type Solved,
  short,
  solvedIn,
} from "./alarm.ts";

/** Iterations without a success where rewards do not differ either, and where they do: then something may still come. */
const NONE_WON = 5;
const NONE_WON_WITH_SPREAD = 10;
const LEAST_EPISODES = 40;
const HAS_SPREAD = 0.9;
/** A validation so much worse than the first is no chance. */
const UNLIKELY = 0.001;
/** Rollouts in a row that were far below what was reached (training/fallen_rollouts). */
const FALLEN = 2;
/** Iterations that are compared, and how likely such a fall may be. */
const MOST_RECENT = 12;
const FALLEN_BY_CHANCE = 0.01;
/** A policy that solves nearly everything needs no choice any more. */
const SOLVED = 0.9;
/** Entropy against the run's first iterations. */
const RISEN = 2;
const RISEN_BY = 0.2;
const SUNK = 0.3;
const ENTROPY = "actor/entropy";

function entropyOf(seen: Seen): { now: number; before: number; success: number } | undefined {
  const recent = seen.last(2);
  const now = recent && meanOf(recent, ENTROPY);
  const before = meanOf(seen.first.slice(0, 2), ENTROPY);
  if (now === undefined || before === undefined) return undefined;
  const { won, episodes } = solvedIn(seen.last(3) ?? recent!);
  return { now, before, success: episodes === 0 ? 0 : won / episodes };
}

/**
 * As if each group were one episode: episodes of a task are mostly won together or not at all, and the tasks of a small
 * batch may all be hard ones.
 */
function asTasks(readings: readonly Reading[]): Solved {
  const { won, episodes } = solvedIn(readings);
  const size = Math.max(1, meanOf(readings, "group/size/mean") ?? 1);
  return { won: Math.round(won / size), episodes: Math.round(episodes / size) };
}

/** Whether fewer tasks are solved than in the run's first iterations, or no more; beyond chance or not. */
function success(seen: Seen): { before: number; now: number; isWorse: boolean; isBetter: boolean } {
  const [first, last] = [solvedIn(seen.first), solvedIn(seen.last(3) ?? [seen.now])];
  return {
    before: first.won / Math.max(1, first.episodes),
    now: last.won / Math.max(1, last.episodes),
    isWorse: fisherAtMost(last, first) < 0.05,
    isBetter: fisherAtMost(first, last) < 0.05,
  };
}

export const LEARNING = {
  no_success: {
    grade: "setup",
    means: "nothing is ever won, so nothing tells a good episode from a bad one",
    tries:
      "warm the model up on expert episodes (sft), begin with easier tasks, or reward what leads towards success",
    remedies: ["warm start", "more turns", "higher temperature"],
    check(seen) {
      const zero = (seen.now.frac_reward_zero_std ?? 0) >= HAS_SPREAD;
      const count = zero ? NONE_WON : NONE_WON_WITH_SPREAD;
      if (!lasting(seen, count, "episode/success_rate", (rate) => rate === 0)) return undefined;
      const { episodes } = solvedIn(seen.last(count)!);
      if (episodes < LEAST_EPISODES) return undefined;
      return {
        text: `none of the ${episodes} episodes of the last ${count} iterations was won`,
        level: 1,
      };
    },
  },
  validation_below_start: {
    grade: "ruin",
    means:
      "the policy solves fewer validation tasks than the model that the run began with: training harms it",
    tries:
      "go back to an earlier checkpoint and lower the learning rate; look whether the reward pays for something else",
    remedies: ["lower the learning rate", "KL to the reference", "reward weights"],
    check({ validation, startValidation }) {
      if (!validation || !startValidation) return undefined;
      const p = fisherAtMost(validation, startValidation);
      if (p >= UNLIKELY) return undefined;
      const rate = ({ won, episodes }: typeof validation) =>
        `${percent(won / episodes)} of ${episodes}`;
      return {
        text: `validation solves ${rate(validation)}, at the start ${rate(startValidation)} (Fisher's exact test, p = ${p.toPrecision(1)})`,
        level: Math.log10(1 / p) / 3,
      };
    },
  },
  success_fallen: {
    grade: "ruin",
    means: "the policy solves not even half of what it did, beyond chance: an update has spoilt it",
    tries:
      "go back to the last healthy checkpoint; lower the learning rate or make fewer updates per batch",
    remedies: ["lower the learning rate", "fewer updates per batch"],
    check(seen) {
      const fallen = seen.now["training/fallen_rollouts"] ?? 0;
      if (fallen < FALLEN) return undefined;
      const recent = seen.upTo(MOST_RECENT);
      const count = Math.min(fallen, recent.length - 1);
      const [before, after] = [recent.slice(0, -count), recent.slice(-count)];
      if (fisherAtMost(asTasks(after), asTasks(before)) >= FALLEN_BY_CHANCE) return undefined;
      return {
        text: `for ${fallen} iterations far below the success that it had, now ${percent(seen.now["episode/success_rate"] ?? 0)}`,
        level: fallen,
      };
    },
  },
  entropy_rising: {
    grade: "ruin",
    means: "the policy becomes more and more random, and it does not win by it",
    tries:
      "lower the entropy bonus (entropy_coeff) or the learning rate, or keep it near its reference (KL)",
    remedies: ["less entropy bonus", "lower the learning rate", "KL to the reference"],
    check(seen) {
      const entropy = entropyOf(seen);
      if (!entropy) return undefined;
      const { now, before } = entropy;
      if (now < RISEN * before || now < before + RISEN_BY || success(seen).isBetter)
        return undefined;
      return {
        text: `the entropy is ${short(now)}, in the first iterations ${short(before)}`,
        level: now / before,
      };
    },
  },
  entropy_falling: {
    grade: "ruin",
    means:
      "the policy says almost always the same and stops exploring before it has learned to win",
    tries:
      "raise the entropy bonus (entropy_coeff), lower the learning rate, or sample at a higher temperature",
    remedies: ["more entropy bonus", "lower the learning rate", "higher temperature"],
    check(seen) {
      const entropy = entropyOf(seen) ?? {
        now: seen.now[ENTROPY],
        before: seen.now[ENTROPY],
        success: seen.now["episode/success_rate"] ?? 0,
      };
      const { now, before, success: rate } = entropy;
      const { minEntropy } = seen.options;
      if (now === undefined || before === undefined || rate >= SOLVED) return undefined;
      if (now < minEntropy)
        return {
          text: `the policy's entropy is ${short(now)} (trainer.min_entropy is ${minEntropy})`,
          level: minEntropy / Math.max(now, 1e-9),
        };
      if (now > SUNK * before || success(seen).isBetter) return undefined;
      return {
        text: `the entropy is ${short(now)}, in the first iterations ${short(before)}, and ${percent(rate)} are won`,
        level: before / Math.max(now, 1e-9) / 4,
      };
    },
  },
} as const satisfies Partial<Record<AlarmName, Alarm>>;
