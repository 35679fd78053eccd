/**
 * @file Faults of a world that come when their episode is over: there is nothing left to fail, so they are
 * counted and told, and no more.
 */
import { warnOfFault } from "../../environments/index.ts";

export interface LateFaults {
  /** The first few that came while the rollout ran. */
  readonly told: readonly string[];
  readonly count: number;
  readonly add: (sentence: string) => void;
  /** The rollout has ended: what comes now is told as a warning. */
  over(): void;
}

/** A timer that fails once fails mostly a thousand times. */
const MOST_TOLD = 5;

export function lateFaults(): LateFaults {
  const told: string[] = [];
  let count = 0;
  let isOver = false;
  return {
    told,
    get count() {
      return count;
    },
    add(sentence) {
      if (isOver) warnOfFault(sentence);
      else if (++count <= MOST_TOLD) told.push(sentence);
    },
    over() {
      isOver = true;
    },
  };
}
