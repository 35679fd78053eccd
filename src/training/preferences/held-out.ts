/**
 * @file What is not learned: some of the items, so that their loss tells whether more than these was learned. All items
 * of a task go together.
 */
import { OptionError } from "../../assembly/index.ts";
import { seededRandom } from "../../environments/index.ts";

/** So many at least, in whole tasks, or a tenth (50 at most). */
export type Holdout = number | "tenth";

export function splitByTask<Item extends { readonly task: string }>(
  items: readonly Item[],
  holdout: Holdout,
  seed: number,
): { training: Item[]; validation: Item[] } {
  const wanted = holdout === "tenth" ? Math.min(50, Math.floor(items.length / 10)) : holdout;
  const tasks = seededRandom("held out", seed).shuffled([
    ...new Set(items.map(({ task }) => task)),
  ]);
  const held = new Set<string>();
  let count = 0;
  for (const task of tasks) {
    // One task is left to learn, whatever was asked for.
    if (count >= wanted || held.size === tasks.length - 1) break;
    held.add(task);
    count += items.filter((item) => item.task === task).length;
  }
  if (typeof holdout === "number" && count < holdout)
    throw new OptionError(
      `holdout: ${holdout} are to be held out, in whole tasks, and there are ${items.length} of ${tasks.length} tasks; ` +
        "leave some to learn",
    );
  return {
    training: items.filter(({ task }) => !held.has(task)),
    validation: items.filter(({ task }) => held.has(task)),
  };
}
