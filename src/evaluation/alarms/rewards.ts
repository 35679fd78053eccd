/**
 * @file Alarms about what is learned from: groups without a difference, a reward that does not follow success or is gamed,
 * components that say nothing or fail.
 */
import { binomialAtMost, fisherAtMost } from "../binomial.ts";
import {
  type Alarm,
  type AlarmName,
  lasting,
  meanOf,
  percent,
  type Reading,
  short,
  solvedIn,
} from "./alarm.ts";

/** Iterations in a row in which nearly all groups have no spread, where not nearly everything is won. */
const SPREAD_PATIENCE = 4;
const NEARLY_ALL = 0.9;
/** Fewer groups may all be hard ones, or easy ones. */
const LEAST_GROUPS = 30;
const MOST_PATIENCE = 12;
/** Mixed groups of so many iterations; in a reward that follows success, won ones are above in (nearly) all. */
const FOLLOWS_WINDOW = 8;
const LEAST_MIXED = 10;
const FOLLOWS = 0.8;
const UNLIKELY = 0.001;
/** Iterations at both ends of the window in which reward and success are compared. */
const ENDS = 3;
const GAMED_WINDOW = 10;
/** A rise of the reward that counts, in deviations of a group. */
const RISE = 0.25;
const FEWER = 0.01;
/** Iterations in which a component gives the same to every episode, from the first on. */
const CONSTANT = 6;
const SAME = 1e-12;

/** So few episodes whose reward fails are an outage of a judge, perhaps. */
const FEW_FAILED = 0.2;

/** Components by name: those of which `rewards/NAME` is known. */
function components(reading: Reading): string[] {
  return Object.keys(reading).flatMap((name) => {
    const found = /^rewards\/(.+)\/std$/.exec(name);
    return found ? [found[1]!] : [];
  });
}

export const REWARDS = {
  no_spread: {
    grade: "setup",
    means:
      "the episodes of a task all earn the same, and groups without a difference teach nothing",
    tries:
      "make groups larger, sample at a higher temperature, choose tasks that are sometimes solved (filter_groups), or reward steps on the way",
    remedies: ["larger groups", "higher temperature", "filter groups"],
    check(seen) {
      if (!seen.options.comparesGroups || (seen.now["group/size/mean"] ?? 1) <= 1) return undefined;
      const size = seen.now["group/size/mean"]!;
      const perIteration = (seen.now["episode/count"] ?? 0) / size;
      const needed = Math.ceil(LEAST_GROUPS / Math.max(1, perIteration));
      const count = Math.min(MOST_PATIENCE, Math.max(SPREAD_PATIENCE, needed));
      const found = lasting(seen, count, "frac_reward_zero_std", (share) => share >= NEARLY_ALL);
      if (!found) return undefined;
      const { won, episodes } = solvedIn(seen.last(count)!);
      if (won >= NEARLY_ALL * episodes) return undefined;
      return {
        text: `${percent(found.at(-1)!)} of the groups have no spread for ${count} iterations, and ${percent(won / Math.max(1, episodes))} of the episodes are won`,
        level: 1,
      };
    },
  },
  reward_unrelated: {
    grade: "setup",
    means:
      "episodes that are won do not earn more than those of the same task that are not: the reward teaches something else",
    tries:
      "look at the breakdown of the rewards of a group; a component is wrong, too heavy, or belongs to other episodes",
    remedies: ["reward weights"],
    check(seen) {
      let [mixed, follows] = [0, 0];
      for (const reading of seen.upTo(FOLLOWS_WINDOW)) {
        const groups = reading["group/mixed"] ?? 0;
        mixed += groups;
        follows += Math.round(groups * (reading["group/won_above_lost"] ?? 0));
      }
      if (mixed < LEAST_MIXED || binomialAtMost(follows, mixed, FOLLOWS) >= UNLIKELY)
        return undefined;
      return {
        text: `in only ${follows} of ${mixed} groups those that were won earned more than the others`,
        level: 1 / Math.max(0.1, follows / mixed),
      };
    },
  },
  reward_gamed: {
    grade: "ruin",
    means:
      "the reward rises while fewer episodes are won: the policy has found a way to be paid without solving the task",
    tries:
      "lower the weight of that component, or pay it only where the task is solved; then go back to an earlier checkpoint",
    remedies: ["reward weights"],
    check(seen) {
      const window = seen.last(GAMED_WINDOW) ?? [...seen.first, ...(seen.last(ENDS) ?? [])];
      const [early, late] = [window.slice(0, ENDS), seen.last(ENDS)];
      if (!late || window.length < 2 * ENDS) return undefined;
      const [before, after] = [early, late].map((some) => meanOf(some, "critic/score/mean"));
      const scale = meanOf(early, "reward_std") ?? 0;
      if (before === undefined || after === undefined || after - before <= RISE * scale)
        return undefined;
      if (fisherAtMost(solvedIn(late), solvedIn(early)) >= FEWER) return undefined;
      const rate = (some: readonly Reading[]) => percent(meanOf(some, "episode/success_rate") ?? 0);
      const [driver] = components(seen.now)
        .map((name) => ({
          name,
          rise: (meanOf(late, `rewards/${name}`) ?? 0) - (meanOf(early, `rewards/${name}`) ?? 0),
        }))
        .sort((a, b) => b.rise - a.rise);
      return {
        text:
          `the reward rose from ${short(before)} to ${short(after)} while success fell from ${rate(early)} to ${rate(late)}` +
          (driver ? `; the component "${driver.name}" drives it (+${short(driver.rise)})` : ""),
        level: 1,
      };
    },
  },
  component_constant: {
    grade: "notice",
    means: "a reward component gives every episode the same, so it teaches nothing",
    tries: "look whether it sees what it should; if it is as meant, take it out",
    remedies: ["reward weights"],
    check(seen) {
      const recent = seen.last(CONSTANT);
      if (!recent) return undefined;
      const constant = components(seen.now).filter((name) => {
        const all = [...seen.first, ...recent];
        const value = seen.now[`rewards/${name}`] ?? 0;
        // Nothing won: that is another alarm.
        return (
          value !== 0 &&
          all.every(
            (one) =>
              (one[`rewards/${name}/std`] ?? Number.POSITIVE_INFINITY) <= SAME &&
              Math.abs((one[`rewards/${name}`] ?? 0) - value) <= SAME,
          )
        );
      });
      if (constant.length === 0) return undefined;
      const said = constant.map((name) => `"${name}" (${short(seen.now[`rewards/${name}`]!)})`);
      return {
        text: `the same for every episode since the run began: ${said.join(", ")}`,
        level: constant.length,
      };
    },
  },
  reward_failed: {
    grade: "setup",
    means:
      "a reward component gives no finite number or fails, and its episodes are not trained on",
    tries:
      "look at the message above: a division by 0, a judge that does not answer, a field that is not always there",
    remedies: ["reward weights"],
    check(seen) {
      const failed = Object.entries(seen.now).flatMap(([name, count]) => {
        const found = /^rewards\/(.+)\/failed$/.exec(name);
        return found && count > 0 ? [{ name: found[1]!, count }] : [];
      });
      if (failed.length === 0) return undefined;
      const episodes = seen.now["episode/count"];
      const said = failed.map(({ name, count }) => `"${name}" for ${count}`);
      const all = failed.reduce((sum, { count }) => sum + count, 0);
      return {
        text: `${said.join(", ")} of ${episodes === undefined ? "the" : episodes} episodes`,
        level: all,
        isSmall: all < FEW_FAILED * (episodes ?? 0),
      };
    },
  },
} as const satisfies Partial<Record<AlarmName, Alarm>>;
