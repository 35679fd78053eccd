/**
 * @file Runs that are looked at, kept up to date while somebody looks: those that run every half second, the others, and
 * whether there are new ones, every five.
 */
import { findRuns } from "./run/find.ts";
import { type FollowedRun, followRun } from "./run/run.ts";

/** Something in a run is new; `anew`: what was known of it is no longer true. */
export interface Change {
  readonly run: string;
  readonly steps: number;
  readonly anew: boolean;
}

export interface FollowedRuns {
  /** All, up to date; new ones included. */
  all(): FollowedRun[];
  /** Undefined: there is none of this id. */
  get(id: string): FollowedRun | undefined;
  /** Tells of changes until the function that it gives is called. */
  watch(listener: (changes: readonly Change[]) => void): () => void;
  close(): void;
}

const BEAT = 500;
const SLOW_BEATS = 10;

export function followRuns(folders: readonly string[]): FollowedRuns {
  const runs = new Map<string, FollowedRun>();
  const listeners = new Set<(changes: readonly Change[]) => void>();
  let timer: NodeJS.Timeout | undefined;
  let beat = 0;

  /** Returns those that are new. */
  function look(): Change[] {
    const found = findRuns(folders);
    for (const id of runs.keys()) if (!found.has(id)) runs.delete(id);
    return [...found].flatMap(([id, folder]) => {
      if (runs.has(id)) return [];
      const run = followRun(id, folder);
      runs.set(id, run);
      return changeOf(run, true);
    });
  }

  function changeOf(run: FollowedRun, isNew = false): Change[] {
    const change = run.update();
    return change ? [{ run: run.id, ...change, anew: change.anew || isNew }] : [];
  }

  function tick(): void {
    const isSlow = beat++ % SLOW_BEATS === 0;
    const changes = isSlow ? look() : [];
    for (const run of runs.values())
      if (isSlow || run.state().name === "running") changes.push(...changeOf(run));
    if (changes.length > 0) for (const listener of listeners) listener(changes);
  }

  return {
    all() {
      look();
      for (const run of runs.values()) run.update();
      return [...runs.values()];
    },
    get(id) {
      if (!runs.has(id)) look();
      const run = runs.get(id);
      run?.update();
      return run;
    },
    watch(listener) {
      listeners.add(listener);
      timer ??= setInterval(tick, BEAT);
      return () => {
        listeners.delete(listener);
        if (listeners.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      };
    },
    close() {
      clearInterval(timer);
      listeners.clear();
      runs.clear();
    },
  };
}
