/**
 * @file A terminal for tests: takes what a program writes and holds what a person would see. Knows only
 * what our view uses; anything else is an error, so that nothing goes by unseen.
 */
import { EventEmitter } from "node:events";
import type { TerminalStream } from "../../src/monitoring/index.ts";

export interface Emulator extends TerminalStream {
  /** All lines so far, also those that have scrolled out, without empty ones at the end. */
  lines(): string[];
  readonly cursorVisible: boolean;
  /** Everything as it was written. */
  readonly written: readonly string[];
  resize(columns: number): void;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: terminals are controlled by them
const TOKEN = /\x1b\[(\?)?([\d;]*)([A-Za-z])|[\r\n]|[^\x1b\r\n]/gu;

export function emulator(options: { columns?: number; rows?: number } = {}): Emulator {
  const events = new EventEmitter();
  const { rows = 24 } = options;
  let { columns = 80 } = options;
  const screen: string[][] = [[]];
  const written: string[] = [];
  let [row, column, visible] = [0, 0, true];

  function control(question: boolean, digits: string, letter: string): void {
    const number = Number(digits || (letter === "A" ? 1 : 0));
    if (question && digits === "25") visible = letter === "h";
    else if (question && digits === "2026") return;
    else if (letter === "m") return;
    else if (letter === "A") row = Math.max(0, screen.length - rows, row - number);
    else if (letter === "K" && number === 0) screen[row] = screen[row]!.slice(0, column);
    else if (letter === "J" && number === 0) {
      screen[row] = screen[row]!.slice(0, column);
      screen.length = row + 1;
    } else throw new Error(`unknown control sequence ${digits}${letter}`);
  }

  function put(character: string): void {
    if (column >= columns) {
      column = 0;
      newline();
    }
    const line = screen[row]!;
    while (line.length < column) line.push(" ");
    line[column++] = character;
  }

  function newline(): void {
    row++;
    while (screen.length <= row) screen.push([]);
  }

  return {
    isTTY: true,
    rows,
    written,
    get columns() {
      return columns;
    },
    get cursorVisible() {
      return visible;
    },
    write(text) {
      written.push(text);
      const tokens = [...text.matchAll(TOKEN)];
      if (tokens.map(([token]) => token).join("") !== text) throw new Error("unknown characters");
      for (const [token, question, digits, letter] of tokens) {
        if (letter) control(question !== undefined, digits ?? "", letter);
        else if (token === "\r") column = 0;
        else if (token === "\n") newline();
        else put(token);
      }
      return true;
    },
    on: (event, listener) => events.on(event, listener),
    off: (event, listener) => events.off(event, listener),
    lines() {
      const lines = screen.map((line) => line.join("").trimEnd());
      while (lines.at(-1) === "") lines.pop();
      return lines;
    },
    resize(width) {
      // As most terminals do: lines that no longer fit are broken.
      columns = width;
      const before = screen.slice(0, row).flatMap((line) => broken(line, width));
      const after = screen.slice(row).flatMap((line) => broken(line, width));
      screen.splice(0, screen.length, ...before, ...after);
      row = before.length;
      events.emit("resize");
    },
  };
}

function broken(line: string[], width: number): string[][] {
  const text = line.join("").trimEnd();
  const count = Math.max(1, Math.ceil(text.length / width));
  return Array.from({ length: count }, (_, i) => [...text.slice(i * width, (i + 1) * width)]);
}
