/**
 * @file Whether a run runs, and how it ended if it does not.
 */
import { isHeld } from "../../folders/index.ts";
import type { RunLogEntry } from "../../monitoring/index.ts";
import type { RunState } from "../api.ts";

/** `isComplete`: all of its iterations are done. For runs of versions that kept no log. */
export function stateOf(
  folder: string,
  log: readonly RunLogEntry[],
  isComplete: boolean,
): RunState {
  const last = log.findLast(({ kind }) => kind === "begun" || kind === "ended");
  // Before the lock: whoever writes the report of a run that has ended still holds its folder.
  if (last?.kind === "ended") {
    const { end, reason } = last;
    if (end === "killed") return { name: "interrupted", reason };
    // One that reached its goal early says why it ended, too.
    return { name: end === "failed" ? "stopped" : "finished", reason };
  }
  if (isHeld(folder)) return { name: "running" };
  return { name: last === undefined && isComplete ? "finished" : "killed" };
}
