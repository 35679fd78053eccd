/**
 * @file The ranks' side of the tests with several ranks: says things to the test, and turns failures
 * of the group into plain values.
 */
import { initializeProcessGroup, ProcessGroupError } from "../../../src/torch/index.ts";
import { MARK } from "./ranks.ts";

/** How a group operation ended. */
export interface Outcome {
  ok: boolean;
  reason?: string;
  ranks?: readonly number[];
  message?: string;
  milliseconds: number;
}

export function say(about: string, value: unknown): void {
  console.log(MARK + JSON.stringify({ about, value }));
}

/** Groups of tests are impatient. */
export function join(timeoutMilliseconds: number) {
  return initializeProcessGroup({ timeoutMilliseconds, joinTimeoutMilliseconds: 60_000 });
}

export function attempt(body: () => void): Outcome {
  const started = performance.now();
  const milliseconds = () => Math.round(performance.now() - started);
  try {
    body();
    return { ok: true, milliseconds: milliseconds() };
  } catch (error) {
    if (!(error instanceof ProcessGroupError)) throw error;
    const { reason, ranks, message } = error;
    return { ok: false, reason, ranks, message, milliseconds: milliseconds() };
  }
}

/** Blocks without calling any operation, as a long computation would. */
export function sleep(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}
