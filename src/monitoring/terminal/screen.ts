/**
 * @file A few lines at the bottom of a terminal that are drawn again in place.
 *
 * A frame is one write that goes up, overwrites each line and clears only what is left of it: nothing
 * is ever blank, so nothing flickers. The cursor is hidden in between and comes back however the
 * process ends.
 */

/** What we need of a terminal's stream; process.stdout and process.stderr are such. */
export interface TerminalStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): boolean;
  on(event: "resize", listener: () => void): unknown;
  off(event: "resize", listener: () => void): unknown;
}

export interface Screen {
  draw(lines: readonly string[]): void;
  /** Prints a line above the drawn ones, where it stays. */
  print(line: string, lines: readonly string[]): void;
  /** Leaves the drawn lines where they are and gives the cursor back. */
  close(): void;
}

const HIDE_CURSOR = "\x1b[?25l";
const SHOW_CURSOR = "\x1b[?25h";
/** Terminals that know these show a frame at once; others ignore them. */
const BEGIN_FRAME = "\x1b[?2026h";
const END_FRAME = "\x1b[?2026l";
const CLEAR_LINE_END = "\x1b[K";
const CLEAR_BELOW = "\x1b[J";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export function openScreen(stream: TerminalStream): Screen {
  let drawn = 0;
  let open = true;
  stream.write(HIDE_CURSOR);

  function frame(above: readonly string[], lines: readonly string[]): void {
    if (!open) return;
    const up = drawn > 0 ? `\x1b[${drawn}A` : "";
    // Lines that have scrolled out of the screen cannot be reached again.
    const shown = lines.slice(0, Math.max(1, (stream.rows ?? 24) - 1));
    const text = [...above, ...shown].map((line) => `${line}${CLEAR_LINE_END}\n`).join("");
    stream.write(`${BEGIN_FRAME}${up}\r${text}${CLEAR_BELOW}${END_FRAME}`);
    drawn = shown.length;
  }

  function close(): void {
    if (!open) return;
    open = false;
    stream.write(SHOW_CURSOR);
    process.off("exit", close);
    for (const signal of SIGNALS) process.off(signal, onSignal);
  }

  /** A program with a handler of its own goes on (and closes us); for any other we end it as usual. */
  function onSignal(signal: NodeJS.Signals): void {
    if (process.listenerCount(signal) > 1) return;
    close();
    process.kill(process.pid, signal);
  }

  process.on("exit", close);
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return { draw: (lines) => frame([], lines), print: (line, lines) => frame([line], lines), close };
}
