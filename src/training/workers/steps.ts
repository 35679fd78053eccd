/**
 * @file Long computations in steps: done at once, or with pauses in which this process hears what servers have
 * answered. The result is the same, bit for bit.
 */
import { setImmediate as pause } from "node:timers/promises";

/** Yields wherever it may be left alone for a moment: nothing of the tensor library is open then. */
export type Steps<Result> = Generator<undefined, Result, undefined>;

export function atOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

export async function withPauses<Result>(steps: Steps<Result>): Promise<Result> {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
    await pause();
  }
}
