/**
 * @file The alarms of a run, as its log has them.
 */
import type { LoggedAlarm, RunLogEntry } from "../../monitoring/index.ts";
import type { RaisedAlarmRow } from "../api.ts";

/** In the order in which they began. A run that was killed and went on has said some of them twice. */
export function alarmsIn(log: readonly RunLogEntry[]): RaisedAlarmRow[] {
  const entries = new Map<string, LoggedAlarm>();
  for (const entry of log)
    if (entry.kind === "alarm" && isWhole(entry))
      entries.set(`${entry.name} ${entry.iteration} ${entry.event}`, entry);
  const rows: RaisedAlarmRow[] = [];
  const sorted = [...entries.values()].sort((a, b) => a.iteration - b.iteration);
  for (const { name, iteration, event, text } of sorted) {
    const open = rows.findLastIndex((row) => row.name === name && row.until === undefined);
    if (open < 0 && event !== "over") rows.push({ name, from: iteration, until: undefined, text });
    else if (open >= 0)
      rows[open] = { ...rows[open]!, ...(event === "over" ? { until: iteration } : { text }) };
  }
  return rows;
}

/** A line may have been edited: one without its parts is left out. */
function isWhole({ name, event, iteration, text }: LoggedAlarm): boolean {
  return (
    Number.isFinite(iteration) && [name, event, text].every((part) => typeof part === "string")
  );
}
