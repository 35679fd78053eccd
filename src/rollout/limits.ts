/**
 * @file How long an episode may take, in turns, tokens, failures and seconds.
 */
import { setMaxListeners } from "node:events";

export interface EpisodeLimits {
  /** Replies at most. */
  readonly turns: number;
  /** Sampled tokens of the whole episode at most. Default: no limit but the context. */
  readonly tokens?: number | undefined;
  /** Tokens of a prompt at most, below what the model allows. */
  readonly promptTokens?: number | undefined;
  /** Replies that cannot be read, one after the other, before the episode ends. Default: no limit. */
  readonly parseFailures?: number | undefined;
  /** Default: no limit. */
  readonly seconds?: number | undefined;
}

/** Throws, with the limit's name, unless each is a number that makes sense. */
export function checkLimits(limits: EpisodeLimits): void {
  for (const [name, value] of Object.entries(limits)) {
    if (value === undefined) continue;
    const whole = name === "seconds" || Number.isInteger(value) || value === Infinity;
    if (!(typeof value === "number" && value > 0 && whole))
      throw new RangeError(`episode limits: ${name} must be a number above 0, got ${value}`);
  }
}

/** The end of an episode's time: aborts its own signal, and says whether that was it. */
export interface Deadline {
  readonly signal: AbortSignal;
  readonly expired: boolean;
  /** To be called when the episode is over. */
  clear(): void;
}

/** Follows `outer`, and aborts by itself after so many seconds. */
export function deadline(seconds: number | undefined, outer: AbortSignal | undefined): Deadline {
  const controller = new AbortController();
  // Everything that an episode waits for listens to it, and hundreds of episodes to one run's.
  setMaxListeners(0, controller.signal, ...(outer ? [outer] : []));
  let expired = false;
  const stop = () => controller.abort(outer?.reason);
  if (outer?.aborted) stop();
  outer?.addEventListener("abort", stop, { once: true });
  const longest = 2 ** 31 - 1; // what Node's timers can wait
  const timer =
    seconds === undefined || seconds * 1000 > longest
      ? undefined
      : setTimeout(() => {
          if (controller.signal.aborted) return;
          expired = true;
          controller.abort(new Error(`the episode's ${seconds} s were over`));
        }, seconds * 1000);
  return {
    signal: controller.signal,
    get expired() {
      return expired;
    },
    clear() {
      clearTimeout(timer);
      outer?.removeEventListener("abort", stop);
    },
  };
}

/** The promise, or the signal's reason if that comes first: nothing that hangs can hold an episode. */
export async function orAborted<Value>(
  value: Value | Promise<Value>,
  signal: AbortSignal,
): Promise<Value> {
  if (!isThenable(value)) return value;
  if (signal.aborted) {
    // Nobody waits for it any more: its failure must not end the process.
    Promise.resolve(value).catch(() => {});
    throw signal.reason;
  }
  let stop: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([value, aborted]);
  } finally {
    signal.removeEventListener("abort", stop!);
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === "function";
}
