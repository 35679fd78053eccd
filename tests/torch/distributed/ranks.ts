/**
 * @file The tests' side of several ranks: starts a script of this folder and gathers what the ranks
 * say. (worker.ts is the ranks' side.)
 */
import { LaunchError, launch, type RankResult } from "../../../src/torch/index.ts";

export interface Saying {
  rank: number;
  /** What kind of thing is said. */
  about: string;
  value: unknown;
}

export interface Run {
  results: readonly RankResult[];
  error: LaunchError | undefined;
  sayings: readonly Saying[];
  /** Lines that the ranks wrote besides, for messages. */
  output: string;
}

export interface RunOptions {
  processes?: number;
  arguments?: readonly string[];
  environment?: Readonly<Record<string, string | undefined>>;
  onSaying?: (saying: Saying) => void;
  graceMilliseconds?: number;
}

/** What worker.ts puts before what is meant for the test. */
export const MARK = "@test ";

export async function runRanks(script: string, options: RunOptions = {}): Promise<Run> {
  const sayings: Saying[] = [];
  const output: string[] = [];
  const run = (results: readonly RankResult[], error?: LaunchError): Run => ({
    results,
    error,
    sayings,
    output: output.join("\n"),
  });
  try {
    return run(
      await launch(new URL(script, import.meta.url), {
        processes: options.processes ?? 4,
        arguments: options.arguments ?? [],
        environment: options.environment ?? {},
        graceMilliseconds: options.graceMilliseconds ?? 20_000,
        onLine: ({ rank, text }) => {
          if (!text.startsWith(MARK)) {
            output.push(`[rank ${rank}] ${text}`);
            return;
          }
          const saying: Saying = { rank, ...JSON.parse(text.slice(MARK.length)) };
          sayings.push(saying);
          options.onSaying?.(saying);
        },
      }),
    );
  } catch (error) {
    if (error instanceof LaunchError) return run(error.results, error);
    throw error;
  }
}

/** What one rank said about something, in order. */
export function saidBy<Value>(run: Run, rank: number, about: string): Value[] {
  return run.sayings
    .filter((saying) => saying.rank === rank && saying.about === about)
    .map((saying) => saying.value as Value);
}

/** Whether a process is still there. */
export function isRunning(process_: number): boolean {
  try {
    process.kill(process_, 0);
    return true;
  } catch {
    return false;
  }
}
