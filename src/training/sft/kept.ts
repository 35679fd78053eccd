/**
 * @file Which of many episodes are worth imitating: all, those that were won, or the best of each task. With search, or
 * with many tries, that is an expert where there is none (expert iteration).
 */
import { OptionError } from "../../assembly/index.ts";
import type { Trajectory } from "../../rollout/index.ts";
import { groupsOf, resultOf } from "../groups.ts";

export const KEPT_EPISODES = ["all", "won", "best"] as const;

export type KeptEpisodes = (typeof KEPT_EPISODES)[number];

/** `best`: of each task in each iteration the first with the highest score, if that is above 0. */
export function keptEpisodes(
  trajectories: readonly Trajectory[],
  keep: KeptEpisodes,
  place: string,
): readonly Trajectory[] {
  if (keep === "all") return trajectories;
  const kept =
    keep === "won"
      ? trajectories.filter(({ won }) => won)
      : groupsOf(trajectories).flatMap((group) => {
          const best = group.reduce((a, b) => (resultOf(b) > resultOf(a) ? b : a));
          return resultOf(best) > 0 ? [best] : [];
        });
  if (kept.length > 0) return kept;
  throw new OptionError(
    `${place}: of ${trajectories.length} episodes none ${keep === "won" ? "was won" : "has a score above 0"}; search ` +
      "longer (--budget-states), or play more tasks",
  );
}
