/**
 * @file Ctrl-C, being asked to end (SIGTERM, as schedulers send it), and a terminal that is closed (SIGHUP,
 * or that nobody reads any more): work stops where it can go on.
 */

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** The exit code of a command that was interrupted: 128 + SIGINT. */
export const INTERRUPTED = 130;

/** Work that is under way and can be asked to stop. */
const underWay = new Set<AbortController>();

/**
 * Runs `work` with a signal that the first Ctrl-C, SIGTERM or SIGHUP aborts. A second one ends the process at
 * once; but not SIGHUP, which a terminal and its shell may both send when they go.
 */
export async function interruptible<Result>(
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const stopping = new AbortController();
  const onSignal = (name: NodeJS.Signals) => {
    if (!stopping.signal.aborted) stopping.abort(new Error("interrupted"));
    else if (name !== "SIGHUP") process.exit(INTERRUPTED);
  };
  underWay.add(stopping);
  for (const name of SIGNALS) process.on(name, onSignal);
  try {
    return await work(stopping.signal);
  } finally {
    underWay.delete(stopping);
    for (const name of SIGNALS) process.off(name, onSignal);
  }
}

/** Asks what is under way to stop, as a signal does. False: there is nothing. */
export function interruptWork(): boolean {
  for (const stopping of underWay) stopping.abort(new Error("interrupted"));
  return underWay.size > 0;
}
