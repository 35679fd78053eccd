/**
 * @file The process in which code is run: takes one piece after another from its parent. It holds
 * nothing else, and may be killed at any time.
 */
import { Worker } from "node:worker_threads";
import { type CodeLimits, type CodeResult, runCode } from "./run.ts";

export interface CodeRequest {
  readonly code: string;
  readonly limits: CodeLimits;
}

/** Longer than the parent waits: it is for the case that there is no parent any more. */
const GRACE = 3000;

/**
 * Ends this process when a run takes too long, from another thread: the code may hold this one. (As
 * text, because a thread cannot be started from TypeScript.)
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

process.on("message", async ({ code, limits }: CodeRequest) => {
  watchdog.postMessage(limits.time + GRACE);
  let result: CodeResult;
  try {
    result = await runCode(code, limits);
  } catch (error) {
    result = { printed: "", error: `it could not be run (${(error as Error).message})` };
  }
  watchdog.postMessage(0);
  process.send?.(result);
  // The memories of past runs, before they add up.
  (globalThis as { gc?: () => void }).gc?.();
});
process.on("disconnect", () => process.exit());
process.send?.("ready");
