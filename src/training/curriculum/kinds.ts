/**
 * @file Kinds of task by their success rates, for worlds with so many tasks that none comes twice: those kinds are played
 * most that are solved about half of the time, and every task of a kind as often as the next.
 */
import { OptionError } from "../../assembly/index.ts";
import type { TaskSet } from "../../environments/index.ts";
import type { KindCurriculum } from "../options.ts";
import { type GroupOutcome, openRecords, type TaskRecords } from "./records.ts";
import { drawingWeights } from "./success-rate.ts";

export interface Kinds {
  /** [tasks] How much more often than others each is drawn. */
  weights(): Float64Array;
  /** The groups of an iteration, which together are one entry of their kind's record. */
  add(groups: readonly GroupOutcome[]): void;
  stored(): TaskRecords;
}

/** `stored`: of the same tasks. */
export function openKinds(
  tasks: TaskSet,
  { floor, memory }: KindCurriculum & { readonly memory: number },
  stored?: TaskRecords,
): Kinds {
  const names = new Map<string | undefined, number>();
  const kindOf = Uint32Array.from({ length: tasks.length }, (_, index) => {
    const type = tasks.type(index);
    if (!names.has(type)) names.set(type, names.size);
    return names.get(type)!;
  });
  if (names.size < 2)
    throw new OptionError(
      `data.curriculum.by=kind: all ${tasks.length} tasks of the split "${tasks.split}" are of one kind ` +
        `(${[...names.keys()][0] ?? "the world names none"}); use by=success_rate.`,
    );
  const records = openRecords(memory, stored);
  return {
    weights() {
      const ofKind = drawingWeights(names.size, records, { floor, unseen: 1 });
      return Float64Array.from(kindOf, (kind) => ofKind[kind]!);
    },
    add(groups) {
      const sums = new Map<number, { episodes: number; won: number }>();
      for (const { index, episodes, won } of groups) {
        const sum = sums.get(kindOf[index]!) ?? { episodes: 0, won: 0 };
        sums.set(kindOf[index]!, { episodes: sum.episodes + episodes, won: sum.won + won });
      }
      for (const [index, sum] of sums) records.add({ index, ...sum });
    },
    stored: () => records.stored(),
  };
}
