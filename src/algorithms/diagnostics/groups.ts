/**
 * @file What groups look like: their sizes, and how many of them can teach anything.
 *
 *   reward_std            mean over groups of the unbiased deviation of their scores
 *   frac_reward_zero_std  share of groups whose scores are all equal (a group of one is)
 *
 * Those two names are TRL's. group/size and group/singleton_fraction (step_group/… for GiGPO's step
 * groups) are ours: a step group of one has no step advantage.
 */
import { groupRows, groupStatistics } from "../groups.ts";
import { checkPerRow, type Ids, type Numbers } from "../rows.ts";
import { moments } from "../statistics.ts";
import { summary } from "./batch.ts";

/** `scores`: one value per row. */
export function groupMetrics(scores: Numbers, groups: Ids): Record<string, number> {
  checkPerRow("groupMetrics", "the score", scores, groups.length);
  if (scores.length === 0) return {};
  const grouping = groupRows("groupMetrics", scores.length, groups);
  const { deviation } = groupStatistics(Float64Array.from(scores), grouping);
  const zero = deviation.reduce((count, value) => count + (value === 0 ? 1 : 0), 0);
  return {
    reward_std: moments(deviation).mean,
    frac_reward_zero_std: zero / deviation.length,
    ...groupSizeMetrics("group", groups),
  };
}

/** name/size/{mean,max,min} and name/singleton_fraction. */
export function groupSizeMetrics(name: string, groups: Ids): Record<string, number> {
  if (groups.length === 0) return {};
  const sizes = groupRows("groupSizeMetrics", groups.length, groups).counted.map(
    (members) => members.length,
  );
  return {
    ...summary(`${name}/size`, sizes),
    [`${name}/singleton_fraction`]: sizes.filter((size) => size === 1).length / sizes.length,
  };
}
