/**
 * @file Asking again: how often, and after how long.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { uniformFor } from "../sampling.ts";
import { ServerError } from "./errors.ts";

export interface RetryOptions {
  /** How often to ask again after a failure that may pass. */
  retries: number;
  /** The first wait, in milliseconds; each further one is twice as long. */
  firstWait: number;
  /** The longest wait; a server that asks for more gets an error instead. */
  longestWait: number;
}

/**
 * Milliseconds before the next attempt: exponential, the upper half of it random, so that requests
 * that failed together do not come back together. From the seed: a run can be repeated.
 */
export function waitBefore(attempt: number, seed: bigint, options: RetryOptions): number {
  const most = Math.min(options.longestWait, options.firstWait * 2 ** attempt);
  // Other numbers than those that draw this seed's tokens.
  return most * (0.5 + uniformFor(BigInt.asUintN(64, ~seed), attempt) / 2);
}

/** Runs until it succeeds, fails for good, or has failed too often. */
export async function withRetries<Result>(
  run: () => Promise<Result>,
  seed: bigint,
  options: RetryOptions,
  signal: AbortSignal,
): Promise<Result> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof ServerError) || !error.retryable) throw error;
      if (attempt >= options.retries) throw exhausted(error, attempt + 1);
      const asked = error.retryAfter ?? 0;
      if (asked > options.longestWait)
        throw new ServerError(
          `${error.message}; it asks to wait ${asked / 1000} s, longestWait is ${options.longestWait / 1000} s`,
          { ...(error.status !== null && { status: error.status }), cause: error },
        );
      await sleep(Math.max(asked, waitBefore(attempt, seed, options)), undefined, { signal });
    }
  }
}

function exhausted(error: ServerError, attempts: number): ServerError {
  if (attempts === 1) return error;
  return new ServerError(`${error.message} (after ${attempts} attempts)`, {
    ...(error.status !== null && { status: error.status }),
    cause: error,
  });
}
