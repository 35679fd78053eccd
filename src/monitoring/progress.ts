/**
 * @file How far some long work is: a line that is written over on a terminal, and elsewhere (a log file, a
 * pipe, CI) a line at every tenth of long work, so that nobody waits for minutes without a word.
 */
import { visibleLine } from "../spelling/index.ts";
import type { TerminalStream } from "./terminal/screen.ts";

export interface Progress {
  /** `what` is under way: so much of it is done. */
  show(what: string, done: number, total: number, note?: string): void;
  /** Takes the line away. */
  clear(): void;
}

/** A terminal's line is written over so often at most, in milliseconds; elsewhere lines come so often. */
const INTERVAL = 100;
const LINE_INTERVAL = 1000;

export function openProgress(stream: Pick<TerminalStream, "isTTY" | "write">): Progress {
  let last = performance.now();
  let tenth = "";
  return {
    show(what, done, total, note = "") {
      const text = visibleLine(`${what}: ${done} of ${total}${note && `, ${note}`}`);
      if (stream.isTTY) {
        if (performance.now() - last < INTERVAL) return;
        last = performance.now();
        stream.write(`\r\x1b[2K${text}`);
        return;
      }
      const now = `${what} ${Math.floor((10 * done) / Math.max(1, total))}`;
      if (now === tenth || (done < total && performance.now() - last < LINE_INTERVAL)) return;
      tenth = now;
      last = performance.now();
      stream.write(`${text}\n`);
    },
    clear() {
      if (stream.isTTY) stream.write("\r\x1b[2K");
    },
  };
}

/** For those who do not want to see it. */
export const NO_PROGRESS: Progress = { show() {}, clear() {} };
