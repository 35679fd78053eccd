/**
 * @file What a world's process prints, line by line on our standard error: with the world's name before it,
 * without what would control a terminal, and not without end.
 */
import type { Readable } from "node:stream";

const LONGEST_LINE = 1000;
/** So many lines in so many milliseconds; the others are counted. */
const MOST_LINES = 200;
const WINDOW = 10_000;

export function showOutput(
  name: () => string,
  streams: readonly Readable[],
  write: (line: string) => void = (line) => void process.stderr.write(`${line}\n`),
): void {
  let shown = 0;
  let hidden = 0;
  let windowEnds = Number.NEGATIVE_INFINITY;
  const show = (line: string): void => {
    const now = performance.now();
    if (now > windowEnds) {
      if (hidden > 0) write(`[${name()}] … and ${hidden} more lines`);
      windowEnds = now + WINDOW;
      shown = 0;
      hidden = 0;
    }
    if (++shown > MOST_LINES) hidden++;
    else write(`[${name()}] ${printable(line)}`);
  };
  for (const stream of streams) {
    let rest = "";
    stream.setEncoding("utf8");
    stream.on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      // The end of a line without end is not kept.
      rest = lines.pop()!.slice(0, LONGEST_LINE + 1);
      for (const line of lines) show(line);
    });
    stream.on("end", () => {
      if (rest !== "") show(rest);
      rest = "";
    });
    stream.on("error", () => {});
  }
}

function printable(line: string): string {
  const cut = line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}…` : line;
  return cut.replace(/[\p{Cc}\p{Cf}]/gu, (character) => (character === "\t" ? "\t" : ""));
}
