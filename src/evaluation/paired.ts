/**
 * @file Are two models really different? A paired test over the tasks that both played.
 *
 * Tasks that both solve (or both do not) say nothing about the difference. Of the n others, b are solved
 * only by the second model; if the models were equally good, b would be binomial(n, ½). The p-value is
 * two-sided and exact (McNemar's test). With several episodes per task, a task counts for the model that
 * solved more of them.
 */

import { TRAINABLE, type Trajectory } from "../rollout/index.ts";
import { binomialAtMost } from "./binomial.ts";

export interface PairedComparison {
  readonly tasks: number;
  /** Tasks on which the second did better, and worse. */
  readonly better: number;
  readonly worse: number;
  /** Success rate of the second minus that of the first. */
  readonly difference: number;
  readonly pValue: number;
}

export function comparePaired(
  first: readonly Trajectory[],
  second: readonly Trajectory[],
): PairedComparison {
  const before = ratesByTask(first);
  const after = ratesByTask(second);
  let better = 0;
  let worse = 0;
  let difference = 0;
  let tasks = 0;
  for (const [task, rate] of before) {
    const other = after.get(task);
    if (other === undefined) continue;
    tasks++;
    difference += other - rate;
    if (other > rate) better++;
    if (other < rate) worse++;
  }
  if (tasks === 0) throw new Error("the two evaluations have no task in common");
  return {
    tasks,
    better,
    worse,
    difference: difference / tasks,
    pValue: signTest(better, worse),
  };
}

/** Two-sided exact binomial test of b against ½ in n = b + c trials. */
export function signTest(b: number, c: number): number {
  return Math.min(1, 2 * binomialAtMost(Math.min(b, c), b + c, 0.5));
}

function ratesByTask(trajectories: readonly Trajectory[]): Map<string, number> {
  const counts = new Map<string, { won: number; all: number }>();
  // What ended through no doing of the agent says nothing of it, as in success.ts.
  for (const { task, won } of trajectories.filter(({ status }) => TRAINABLE.has(status))) {
    const count = counts.get(task.id) ?? { won: 0, all: 0 };
    counts.set(task.id, { won: count.won + (won ? 1 : 0), all: count.all + 1 });
  }
  return new Map([...counts].map(([task, { won, all }]) => [task, won / all]));
}
