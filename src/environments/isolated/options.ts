/**
 * @file How a world is isolated: in how many processes, with what memory, knowing which variables.
 */
import { availableParallelism } from "node:os";

export interface IsolateOptions {
  /** True: one for each core, 4 at most. 0 or false: none, the world is played in this process. */
  readonly processes: boolean | number;
  /** Megabytes of JavaScript's memory, of each. Default 2048. */
  readonly memory?: number | undefined;
  /** Seconds for one answer of the world. Default 120; Infinity: however long it takes. */
  readonly stepSeconds?: number | undefined;
  /** Environment variables that they are given although their names sound like secrets. */
  readonly variables?: readonly string[] | undefined;
}

const MOST_BY_DEFAULT = 4;

export function processCount({ processes }: IsolateOptions): number {
  if (typeof processes === "number") return processes;
  return processes ? Math.min(MOST_BY_DEFAULT, availableParallelism()) : 0;
}

const SOUNDS_SECRET = /KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH/i;

/** What a process of somebody else's world is told of our environment: everything but secrets. */
export function variablesFor(
  { variables = [] }: IsolateOptions,
  all: NodeJS.ProcessEnv = process.env,
): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(all).filter(([name]) => variables.includes(name) || !SOUNDS_SECRET.test(name)),
  );
}
