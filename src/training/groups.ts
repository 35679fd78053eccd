/**
 * @file Episodes of the same task in the same iteration, and what each achieved: by that they are compared.
 */
import { isTrainable, type Trajectory } from "../rollout/index.ts";

/** A score of 1 without a win is no win. */
const BELOW_WON = 0.999;

/** What an episode achieved: 1 won, else the world's score, which is below. */
export function resultOf({ won, score }: Pick<Trajectory, "won" | "score">): number {
  return won ? 1 : Math.min(Math.max(score, 0), 1) * BELOW_WON;
}

/** Episodes that can be learned from, by task and iteration, in their order. */
export function groupsOf(trajectories: Iterable<Trajectory>): Trajectory[][] {
  const groups = new Map<string, Trajectory[]>();
  for (const trajectory of trajectories) {
    if (!isTrainable(trajectory)) continue;
    const name = `${trajectory.step}:${trajectory.task.id}`;
    const group = groups.get(name);
    if (group) group.push(trajectory);
    else groups.set(name, [trajectory]);
  }
  return [...groups.values()];
}
