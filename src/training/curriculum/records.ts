/**
 * @file How often each training task was solved, as far as it is known: what curricula go by and metrics tell. Older groups
 * count less, because the policy was another.
 */

/** What a checkpoint stores: three columns, a line for each task that was played. */
export interface TaskRecords {
  /** Indices in the task set. */
  readonly tasks: readonly number[];
  /** Episodes, older ones for less. */
  readonly episodes: readonly number[];
  /** Those of them that were won. */
  readonly won: readonly number[];
  /** The same of kinds of task, where a curriculum goes by them: numbers of kinds in place of tasks. */
  readonly kinds?: TaskRecords;
}

/** What came of one group. */
export interface GroupOutcome {
  /** The task's index in its set. */
  readonly index: number;
  readonly episodes: number;
  readonly won: number;
}

export interface Records {
  /** Tasks that were played. */
  readonly count: number;
  /** Undefined: it was never played. */
  successRate(index: number): number | undefined;
  add(group: GroupOutcome): void;
  stored(): TaskRecords;
}

/** `memory`: what is left of a task's earlier groups when another one is added. */
export function openRecords(memory: number, stored?: TaskRecords): Records {
  const found = new Map<number, { readonly episodes: number; readonly won: number }>();
  for (const [i, index] of stored?.tasks.entries() ?? [])
    found.set(index, { episodes: stored!.episodes[i]!, won: stored!.won[i]! });
  return {
    get count() {
      return found.size;
    },
    successRate(index) {
      const record = found.get(index);
      return record && record.won / record.episodes;
    },
    add({ index, episodes, won }) {
      const before = found.get(index) ?? { episodes: 0, won: 0 };
      found.set(index, {
        episodes: memory * before.episodes + episodes,
        won: memory * before.won + won,
      });
    },
    stored() {
      const all = [...found].sort(([a], [b]) => a - b);
      return {
        tasks: all.map(([index]) => index),
        episodes: all.map(([, { episodes }]) => episodes),
        won: all.map(([, { won }]) => won),
      };
    },
  };
}
