/**
 * @file The names of loggers, as verl's `trainer.logger` has them: which we have, which we know and do not
 * have, and which are mistakes.
 */
import { nearest } from "../spelling/index.ts";

/** What can be asked for. A run's metrics.jsonl and report are written whatever is asked for. */
export const LOGGER_NAMES = ["console", "tensorboard", "mlflow"] as const;
export type LoggerName = (typeof LOGGER_NAMES)[number];

const NO_CLIENT = "there is no client for it here; a file of your own can be one";

/** Names that command lines written for verl have; with them a run goes on without that logger. */
const NOT_OFFERED: Readonly<Record<string, string>> = {
  wandb: NO_CLIENT,
  swanlab: NO_CLIENT,
  vemlp_wandb: NO_CLIENT,
  clearml: NO_CLIENT,
  trackio: NO_CLIENT,
  file: "metrics.jsonl is written in any case",
};

export interface KnownLoggers {
  readonly offered: readonly LoggerName[];
  /** Files of one's own, as they were given. */
  readonly files: readonly string[];
  /** Accepted, and not offered: a sentence for each. */
  readonly notOffered: readonly string[];
}

/** Sorts the names, each once. Throws, with the nearest name, for one that nobody knows. */
export function requireLoggerNames(names: readonly string[]): KnownLoggers {
  const offered: LoggerName[] = [];
  const files: string[] = [];
  const notOffered: string[] = [];
  for (const name of new Set(names)) {
    const known = LOGGER_NAMES.find((candidate) => candidate === name);
    if (known) offered.push(known);
    else if (/\.(ts|js|mjs)$/.test(name)) files.push(name);
    else if (Object.hasOwn(NOT_OFFERED, name))
      notOffered.push(`the logger ${name} is not offered: ${NOT_OFFERED[name]}.`);
    else throw new Error(unknown(name));
  }
  return { offered, files, notOffered };
}

function unknown(name: string): string {
  const guess = nearest(name, [...LOGGER_NAMES, ...Object.keys(NOT_OFFERED)]);
  return (
    `there is no logger "${name.slice(0, 60)}"${guess ? `; did you mean "${guess}"?` : "."} ` +
    `There are ${LOGGER_NAMES.join(", ")}, and a file of your own (./logger.ts).`
  );
}
