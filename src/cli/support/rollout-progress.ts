/**
 * @file How far a rollout is: a line that is written over on a terminal, a line now and then elsewhere.
 */
import { formatSeconds } from "../../monitoring/index.ts";
import type { Trajectory } from "../../rollout/index.ts";
import { progressLine } from "../arguments/world.ts";
import { printError } from "./print.ts";

export interface RolloutProgress {
  episode(trajectory: Trajectory): void;
  end(): void;
}

/** Milliseconds between two lines where there is no terminal. */
const BETWEEN_LINES = 10_000;

export function rolloutProgress(total: number): RolloutProgress {
  const line = progressLine();
  const begun = performance.now();
  let last = begun;
  let [done, won, turns] = [0, 0, 0];
  return {
    episode(trajectory) {
      done++;
      won += Number(trajectory.won);
      turns += trajectory.turns.length;
      const now = performance.now();
      const left = ((now - begun) / done / 1000) * (total - done);
      const text =
        `${done} of ${total} episodes, ${won} won, ${(turns / done).toFixed(1)} turns each, ` +
        `${formatSeconds(left)} left`;
      line.show(text);
      if (process.stderr.isTTY || now - last < BETWEEN_LINES) return;
      last = now;
      printError(text);
    },
    end: () => line.clear(),
  };
}
