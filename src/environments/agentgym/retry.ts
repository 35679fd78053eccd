/**
 * @file Asking again, after a wait that doubles each time.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { ServerFailure } from "./exchange.ts";

export interface RetryOptions {
  /** How often to ask again. */
  readonly retries: number;
  /** The first wait, in milliseconds; never more than `LONGEST_WAIT`. */
  readonly wait: number;
}

const LONGEST_WAIT = 10_000;

/**
 * Runs until it succeeds, is refused for good or has failed too often. `onFailure` may change what the
 * next attempt does; it throws to give up. `spread` (any whole number) shifts the waits, so that many
 * who failed together do not come back together.
 */
export async function withRetries<Result>(
  { retries, wait }: RetryOptions,
  spread: number,
  signal: AbortSignal,
  attempt: () => Promise<Result>,
  onFailure: (failure: ServerFailure) => void | Promise<void>,
): Promise<Result> {
  for (let failed = 0; ; failed++) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof ServerFailure)) throw error;
      await onFailure(error);
      if (failed === retries)
        throw failed === 0
          ? error
          : new ServerFailure(error.delivery, `${error.message}; asked ${failed + 1} times`, {
              cause: error,
            });
    }
    // The golden ratio spreads any row of numbers evenly.
    const share = 0.75 + ((spread * 0.6180339887) % 1) / 2;
    await sleep(Math.min(wait * 2 ** failed, LONGEST_WAIT) * share, undefined, { signal });
  }
}
