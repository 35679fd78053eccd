/**
 * @file How long an episode may take, in turns, tokens, failures and seconds.
 */
import { setMaxListeners } from "node:events";
import type { EnvironmentError, TimeLimit } from "../environments/index.ts";

export interface EpisodeLimits {
  /** Replies at most. */
  readonly turns: number;
  /** Sampled tokens of the whole episode at most. Default: no limit but the context. */
  readonly tokens?: number | undefined;
  /** Tokens of a prompt at most, below what the model allows. */
  readonly promptTokens?: number | undefined;
  /** Replies that cannot be read, one after the other, before the episode ends. Default: no limit. */
  readonly parseFailures?: number | undefined;
  /** Of the whole episode. Default: no limit; each of its parts has its own. */
  readonly seconds?: number | undefined;
  /**
   * For each answer of the world (reset, step) and of a tool. Default 120; Infinity: however long it takes.
   * What is late is an error of the world, like what it throws.
   */
  readonly stepSeconds?: number | undefined;
  /** Characters of an observation's text at most. Default 200,000. */
  readonly observationCharacters?: number | undefined;
}

/** Seconds for an answer of a world, where nobody says otherwise. */
const STEP_SECONDS = 120;

export function stepLimit({ stepSeconds = STEP_SECONDS }: EpisodeLimits): TimeLimit {
  return { seconds: stepSeconds, setting: "env.rollout.step_seconds" };
}

/** Throws, with the limit's name, unless each is a number that makes sense. */
export function checkLimits(limits: EpisodeLimits): void {
  for (const [name, value] of Object.entries(limits)) {
    if (value === undefined) continue;
    const whole = /seconds$/i.test(name) || Number.isInteger(value) || value === Infinity;
    if (!(typeof value === "number" && value > 0 && whole))
      throw new RangeError(`episode limits: ${name} must be a number above 0, got ${value}`);
  }
}

/** What ends an episode from outside: its time, a fault of its world's, or whoever started it. */
export interface Deadline {
  /** Aborted by all of them. */
  readonly signal: AbortSignal;
  /** Its time was up. */
  readonly expired: boolean;
  /** Its world failed outside of the calls that the episode waits for. */
  readonly fault: EnvironmentError | undefined;
  fail(fault: EnvironmentError): void;
  /** To be called when the episode is over. */
  clear(): void;
}

/** Follows `outer`, and aborts by itself after so many seconds. */
export function deadline(seconds: number | undefined, outer: AbortSignal | undefined): Deadline {
  const controller = new AbortController();
  // Everything that an episode waits for listens to it, and hundreds of episodes to one run's.
  setMaxListeners(0, controller.signal, ...(outer ? [outer] : []));
  let expired = false;
  let fault: EnvironmentError | undefined;
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
    get fault() {
      return fault;
    },
    fail(error) {
      if (controller.signal.aborted) return;
      fault = error;
      controller.abort(error);
    },
    clear() {
      clearTimeout(timer);
      outer?.removeEventListener("abort", stop);
    },
  };
}
