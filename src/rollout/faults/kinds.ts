/**
 * @file What kind of fault ended an episode that is not the agent's doing.
 *
 *   late      no answer in time: of a call, or of the whole episode
 *   garbage   an answer that is none: no text, no number, too much
 *   ended     the world's process is gone
 *   threw     the world failed in any other way
 *   policy    the model, or the server that has it, failed
 */
import { EnvironmentError, TimeLimitError } from "../../environments/index.ts";
import type { EpisodeStatus } from "../trajectory.ts";

export const FAULT_KINDS = ["late", "garbage", "ended", "threw", "policy"] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

/** How often each came, where any did. Episodes that were begun again count with every fault that they had. */
export type FaultCounts = Readonly<Partial<Record<FaultKind, number>>>;

export function faultKind(status: EpisodeStatus, error: unknown): FaultKind | undefined {
  if (status === "timeout") return "late";
  if (status === "policy error") return "policy";
  if (status !== "environment error") return undefined;
  if (error instanceof EnvironmentError && error.kind !== undefined) return error.kind;
  for (let one = error; one instanceof Error; one = one.cause)
    if (one instanceof TimeLimitError) return "late";
  return "threw";
}

export function addFaults(counts: readonly FaultCounts[]): FaultCounts {
  const sums: Partial<Record<FaultKind, number>> = {};
  for (const one of counts)
    for (const kind of FAULT_KINDS)
      if (one[kind] !== undefined) sums[kind] = (sums[kind] ?? 0) + one[kind];
  return sums;
}
