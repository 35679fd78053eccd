/**
 * @file What goes wrong between ranks.
 */
import type { NativeGroupError } from "./addon.ts";

/**
 * Why a group failed:
 * - `died`: a process ended without a goodbye (a signal, a crash);
 * - `left`: a rank destroyed its group or ended its process before the operation;
 * - `timeout`: somebody did not call the operation, or stopped answering;
 * - `mismatch`: the ranks called different operations, shapes or dtypes;
 * - `transport`: the network failed although all ranks are alive;
 * - `rendezvous`: the ranks did not find each other;
 * - `failed`: what a rank did beside the group failed, and it said of what.
 */
export type FailureReason =
  | "died"
  | "left"
  | "timeout"
  | "mismatch"
  | "transport"
  | "rendezvous"
  | "failed";

/** A process group failed. All ranks get the same reason and the same ranks. */
export class ProcessGroupError extends Error {
  override readonly name = "ProcessGroupError";
  readonly reason: FailureReason;
  /** The ranks that caused it; empty when none did. */
  readonly ranks: readonly number[];

  constructor(message: string, reason: FailureReason, ranks: readonly number[]) {
    super(message);
    this.reason = reason;
    this.ranks = ranks;
  }
}

/** Runs a call of the addon, and gives its group errors their class. */
export function withGroupErrors<Result>(body: () => Result): Result {
  try {
    return body();
  } catch (error) {
    if (!isNativeGroupError(error)) throw error;
    throw new ProcessGroupError(error.message, error.reason, error.ranks);
  }
}

function isNativeGroupError(error: unknown): error is NativeGroupError {
  return error instanceof Error && "code" in error && error.code === "ERR_PROCESS_GROUP";
}
