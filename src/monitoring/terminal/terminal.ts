/**
 * @file A run on the terminal: a view that is drawn again in place, or where there is no terminal (a
 * log file, a pipe, CI) a line per step.
 */
import type { MetricsLogger } from "../log.ts";
import { advance, EMPTY_RUN } from "./fields.ts";
import { plainLine } from "./plain.ts";
import { openScreen, type TerminalStream } from "./screen.ts";
import { oneLine } from "./style.ts";
import { viewLines } from "./view.ts";

export interface TerminalOptions {
  readonly totalSteps: number;
  readonly title?: string;
  /** Default: process.stdout. */
  readonly stream?: TerminalStream;
  /** Default: process.env, for NO_COLOR and TERM. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

export interface TerminalLogger extends MetricsLogger {
  /** What the run does from now on ("generating"); shown only live. */
  doing(what: string): void;
  /** A line that stays ("checkpoint saved"). Other writes to the stream would disturb the view. */
  print(line: string): void;
}

export function openTerminal(options: TerminalOptions): TerminalLogger {
  const { stream = process.stdout, environment = process.env } = options;
  const live = Boolean(stream.isTTY) && environment.TERM !== "dumb";
  return live ? liveLogger(options, stream, environment) : plainLogger(options, stream);
}

function plainLogger({ totalSteps }: TerminalOptions, stream: TerminalStream): TerminalLogger {
  let run = EMPTY_RUN;
  return {
    log(step, metrics) {
      run = advance(run, step, metrics);
      stream.write(`${plainLine(run, totalSteps)}\n`);
    },
    doing() {},
    print: (line) => void stream.write(`${oneLine(line)}\n`),
    close() {},
  };
}

function liveLogger(
  { totalSteps, title = "" }: TerminalOptions,
  stream: TerminalStream,
  environment: Readonly<Record<string, string | undefined>>,
): TerminalLogger {
  const screen = openScreen(stream);
  // By no-color.org, any value but an empty one turns colours off.
  const color = !environment.NO_COLOR;
  let run = EMPTY_RUN;
  let now = "";

  function lines(): string[] {
    // A line that fills the last column would leave some terminals' cursor on the next one.
    const width = Math.max(1, (stream.columns ?? 80) - 1);
    return viewLines(run, { title: oneLine(title), totalSteps, doing: now, width, color });
  }
  const draw = () => screen.draw(lines());

  stream.on("resize", draw);
  draw();
  return {
    log(step, metrics) {
      run = advance(run, step, metrics);
      draw();
    },
    doing(what) {
      now = oneLine(what);
      draw();
    },
    print: (line) => screen.print(oneLine(line), lines()),
    close() {
      stream.off("resize", draw);
      now = "";
      draw();
      screen.close();
    },
  };
}
