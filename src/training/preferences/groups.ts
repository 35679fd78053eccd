/**
 * @file Pairs from episodes of the same task in the same iteration: one that did better against one that did worse.
 */
import type { Trajectory } from "../../rollout/index.ts";
import { groupsOf, resultOf } from "../groups.ts";
import { type Pair, pairOf } from "./pairs.ts";

/** Pairs of a group at most, where nobody says otherwise. */
const PER_GROUP = 8;

export function pairsOfEpisodes(
  trajectories: Iterable<Trajectory>,
  perGroup: number = PER_GROUP,
): Pair[] {
  return groupsOf(trajectories).flatMap((group) => pairsOfGroup(group, perGroup));
}

/**
 * Each time the pair whose episodes were in the fewest pairs so far, of those the one that differs most: every episode
 * is in one before any is in many.
 */
function pairsOfGroup(group: readonly Trajectory[], most: number): Pair[] {
  const results = group.map(resultOf);
  let left = results.flatMap((better, chosen) =>
    results.flatMap((worse, rejected) =>
      better > worse ? [{ chosen, rejected, margin: better - worse }] : [],
    ),
  );
  const uses = group.map(() => 0);
  const pairs: Pair[] = [];
  while (left.length > 0 && pairs.length < most) {
    const cost = (one: (typeof left)[number]) => uses[one.chosen]! + uses[one.rejected]!;
    const next = left.reduce((best, one) =>
      cost(one) < cost(best) || (cost(one) === cost(best) && one.margin > best.margin) ? one : best,
    );
    left = left.filter((one) => one !== next);
    const pair = pairOf(group[0]!.task.id, group[next.chosen]!, group[next.rejected]!, next.margin);
    if (!pair) continue;
    uses[next.chosen]!++;
    uses[next.rejected]!++;
    pairs.push(pair);
  }
  return pairs;
}
