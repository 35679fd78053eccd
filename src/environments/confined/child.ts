/**
 * @file The side of a confined process: takes one piece of work after another from its parent. It holds nothing
 * else, and may be killed at any time.
 */
import { Worker } from "node:worker_threads";

export interface ConfinedRequest {
  readonly work: unknown;
  /** Milliseconds. */
  readonly time: number;
}

/** Longer than the parent waits: it is for the case that there is no parent any more. */
const GRACE = 3000;

export function serveParent<Work, Result>(
  carryOut: (work: Work) => Result | Promise<Result>,
): void {
  /**
   * Ends this process when a piece takes too long, from another thread: the work may hold this one. (As text,
   * because a thread cannot be started from TypeScript.)
   */
  const watchdog = new Worker(
    `let timer;
   require("node:worker_threads").parentPort.on("message", (time) => {
     clearTimeout(timer);
     if (time > 0) timer = setTimeout(() => process.kill(process.pid, "SIGKILL"), time);
   });`,
    { eval: true, env: {} },
  );
  watchdog.unref();
  process.on("message", async ({ work, time }: ConfinedRequest) => {
    watchdog.postMessage(time + GRACE);
    const result = await carryOut(work as Work);
    watchdog.postMessage(0);
    process.send?.(result);
    // The memories of past work, before they add up.
    (globalThis as { gc?: () => void }).gc?.();
  });
  process.on("disconnect", () => process.exit());
  process.send?.("ready");
}
