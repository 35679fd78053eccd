/**
 * @file log.jsonl: when a run began, what it said, and how it ended, a line each. For people and the dashboard; nothing is
 * decided by it, and a resumed run goes on with the same file.
 */
import { existsSync, readFileSync } from "node:fs";
import { closedOnError, openAppendFile } from "./append-file.ts";
import type { RunEnd } from "./log.ts";

const NEWLINE = 10;

export type RunLogEntry =
  | {
      readonly at: string;
      readonly kind: "begun";
      readonly iterations: number;
      readonly from: number;
    }
  | { readonly at: string; readonly kind: "said"; readonly text: string }
  | ({ readonly at: string; readonly kind: "alarm" } & LoggedAlarm)
  | { readonly at: string; readonly kind: "ended"; readonly end: RunEnd; readonly reason?: string };

/** An alarm that begins, gets worse, or is over. */
export interface LoggedAlarm {
  readonly name: string;
  readonly event: string;
  readonly iteration: number;
  readonly text: string;
}

export interface RunLog {
  begun(iterations: number, from: number): void;
  said(text: string): void;
  alarm(alarm: LoggedAlarm): void;
  ended(end: RunEnd, reason?: string): void;
  close(): void;
}

/** `onLost` is told, once, that the file takes nothing more: what it is for is said elsewhere, too, and the run goes on. */
export function openRunLog(file: string, onLost: (sentence: string) => void = () => {}): RunLog {
  const target = openAppendFile(file);
  closedOnError(target, () => {
    const before = target.read();
    // A line that was being written when the process died spoils only itself.
    if (before.length > 0 && before.at(-1) !== NEWLINE) target.append(Buffer.from("\n"));
  });
  let isLost = false;
  const write = (entry: object) => {
    try {
      target.append(Buffer.from(`${JSON.stringify({ at: new Date().toISOString(), ...entry })}\n`));
    } catch (error) {
      if (!isLost) onLost(`what is said is not kept: ${(error as Error).message}`);
      isLost = true;
    }
  };
  return {
    begun: (iterations, from) => write({ kind: "begun", iterations, from }),
    said: (text) => write({ kind: "said", text }),
    alarm: (alarm) => write({ kind: "alarm", ...alarm }),
    ended: (end, reason) => write({ kind: "ended", end, ...(reason !== undefined && { reason }) }),
    close: () => target.close(),
  };
}

/** Lines that are none are left out: the file is for people, and a last one may be half written. */
export function readRunLog(file: string): RunLogEntry[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, "utf8")
    .split("\n")
    .flatMap((line) => {
      try {
        const entry = JSON.parse(line) as RunLogEntry | null;
        return typeof entry?.at === "string" && typeof entry.kind === "string" ? [entry] : [];
      } catch {
        return [];
      }
    });
}
