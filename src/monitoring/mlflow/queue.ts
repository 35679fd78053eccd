/**
 * @file Steps that wait to be sent: whole ones, in order, and not more than there is room for.
 */
import { type LoggedMetric, MOST_METRICS } from "./client.ts";

export interface WaitingStep {
  readonly step: number;
  readonly metrics: readonly LoggedMetric[];
}

export interface StepQueue {
  /** Where there is no room the oldest step goes. */
  add(step: WaitingStep): void;
  /** As many steps as one request may hold, at least one; they are no longer in the queue. */
  take(): readonly WaitingStep[];
  /** They could not be sent, and are first again. */
  putBack(steps: readonly WaitingStep[]): void;
  readonly length: number;
  /** Steps that went because there was no room. */
  readonly dropped: number;
}

export function stepQueue(room: number): StepQueue {
  const steps: WaitingStep[] = [];
  let dropped = 0;
  function makeRoom(): void {
    const tooMany = Math.max(0, steps.length - room);
    steps.splice(0, tooMany);
    dropped += tooMany;
  }
  return {
    add(step) {
      steps.push(step);
      makeRoom();
    },
    take() {
      let count = 0;
      let metrics = 0;
      for (const step of steps) {
        metrics += step.metrics.length;
        if (count > 0 && metrics > MOST_METRICS) break;
        count++;
      }
      return steps.splice(0, count);
    },
    putBack(taken) {
      steps.unshift(...taken);
      makeRoom();
    },
    get length() {
      return steps.length;
    },
    get dropped() {
      return dropped;
    },
  };
}
