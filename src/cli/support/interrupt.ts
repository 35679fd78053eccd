/**
 * @file Ctrl-C, and being asked to end (SIGTERM, as schedulers send it): work stops where it can go on.
 */

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** The exit code of a command that was interrupted: 128 + SIGINT. */
export const INTERRUPTED = 130;

/** Runs `work` with a signal that the first Ctrl-C or SIGTERM aborts. A second one ends the process at once. */
export async function interruptible<Result>(
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const stopping = new AbortController();
  const onSignal = () => {
    if (stopping.signal.aborted) process.exit(INTERRUPTED);
    stopping.abort(new Error("interrupted"));
  };
  for (const name of SIGNALS) process.on(name, onSignal);
  try {
    return await work(stopping.signal);
  } finally {
    for (const name of SIGNALS) process.off(name, onSignal);
  }
}
