/**
 * @file How long somebody else's code is waited for: a world, a tool, a judge, a reward. This is the one place
 * where such a wait gets its limit.
 */
import { isThenable } from "../functions/call.ts";

/** How long something may take. */
export interface TimeLimit {
  /** Infinity: as long as it takes. */
  readonly seconds: number;
  /** The setting that says so, for the message. */
  readonly setting?: string;
}

/** Somebody did not answer in time. */
export class TimeLimitError extends Error {
  override name = "TimeLimitError";
}

/** What Node's timers can wait; a longer time is none. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** What is being waited for, for whoever asks why nothing happens. */
const waits = new Set<{ readonly what: string }>();

/** What somebody else's code has not answered yet: "step()", "the reward mine". */
export function pendingWaits(): readonly string[] {
  return [...new Set([...waits].map(({ what }) => what))];
}

/**
 * The value, if it comes before the limit and before `signal` says to stop; otherwise a TimeLimitError, or the
 * signal's reason. What comes later is ignored, failures too. `what` is who has to answer.
 *
 * The timer holds the process: a promise that nothing will ever settle leaves nothing else to wait for, and
 * Node would end without a word.
 */
export async function within<Value>(
  limit: TimeLimit | undefined,
  what: string,
  work: Value | PromiseLike<Value>,
  signal?: AbortSignal,
): Promise<Value> {
  if (!isThenable(work)) return work;
  const answer = Promise.resolve(work);
  if (signal?.aborted) {
    // Nobody waits for it any more: its failure must not end the process.
    answer.catch(() => {});
    throw signal.reason;
  }
  let timer: NodeJS.Timeout | undefined;
  let stop: (() => void) | undefined;
  const cut = new Promise<never>((_, reject) => {
    if (signal) {
      stop = () => reject(signal.reason);
      signal.addEventListener("abort", stop, { once: true });
    }
    const milliseconds = (limit?.seconds ?? Infinity) * 1000;
    // This thread may have been busy with a model: an answer that has come meanwhile is read first.
    const late = () => setImmediate(() => reject(lateError(what, limit!)));
    if (milliseconds <= LONGEST_TIMER) timer = setTimeout(late, milliseconds);
  });
  const wait = { what };
  waits.add(wait);
  try {
    return await Promise.race([answer, cut]);
  } finally {
    waits.delete(wait);
    clearTimeout(timer);
    if (stop) signal?.removeEventListener("abort", stop);
  }
}

function lateError(what: string, { seconds, setting }: TimeLimit): TimeLimitError {
  const source = setting === undefined ? "" : ` (${setting})`;
  return new TimeLimitError(`${what} did not answer within ${seconds} s${source}`);
}
