/**
 * @file A few lines at the bottom of a terminal that are drawn again in place.
 *
 * A frame is one write that goes up, overwrites each line and clears only what is left of it: nothing
 * is ever blank, so nothing flickers. The cursor is hidden in between and comes back however the
 * process ends.
 */
import { widthOf } from "./style.ts";

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

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one
const COLORS = /\x1b\[[\d;]*m/g;

export function openScreen(stream: TerminalStream): Screen {
  /** The widths of the drawn lines, in columns. */
  let drawn: number[] = [];
  let open = true;
  stream.write(HIDE_CURSOR);

  function frame(above: readonly string[], lines: readonly string[]): void {
    if (!open) return;
    // A terminal that has become narrower since has broken long lines into several.
    const columns = Math.max(1, stream.columns ?? 80);
    const rows = drawn.reduce((sum, width) => sum + Math.max(1, Math.ceil(width / columns)), 0);
    const up = rows > 0 ? `\x1b[${rows}A` : "";
    // Lines that have scrolled out of the screen cannot be reached again.
    const shown = lines.slice(0, Math.max(1, (stream.rows ?? 24) - 1));
    const text = [...above, ...shown].map((line) => `${line}${CLEAR_LINE_END}\r\n`).join("");
    stream.write(`${BEGIN_FRAME}${up}\r${text}${CLEAR_BELOW}${END_FRAME}`);
    drawn = shown.map((line) => widthOf(line.replace(COLORS, "")));
  }

  function close(): void {
    if (!open) return;
    open = false;
    stream.write(SHOW_CURSOR);
    process.off("exit", close);
    for (const signal of SIGNALS) process.off(signal, endScreen);
  }

  /** A program with a handler of its own goes on (and closes us); for any other we end it as usual. */
  function endScreen(signal: NodeJS.Signals): void {
    const others = process.listeners(signal).filter(({ name }) => name !== endScreen.name);
    if (others.length > 0) return;
    close();
    process.kill(process.pid, signal);
  }

  process.on("exit", close);
  // First in line: a handler that is there for one signal only is gone after it was called.
  for (const signal of SIGNALS) process.prependListener(signal, endScreen);
  return {
    draw: (lines) => frame([], lines),
    print(line, lines) {
      // What a program says after the view's end is still said.
      if (open) frame([line], lines);
      else stream.write(`${line}\n`);
    },
    close,
  };
}
