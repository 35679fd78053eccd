/**
 * @file Starts a script as several ranks on this machine, the way torchrun does.
 *
 * Each rank is a process with RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT set, so that
 * the script's initializeProcessGroup() finds the others. Output comes line by line with the rank
 * before it. When a rank fails, the others get a moment to say what they saw, then they are stopped.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { availableThreads } from "../../setup/index.ts";

export interface LaunchOptions {
  /** How many ranks. */
  processes: number;
  /** The script's own arguments. */
  arguments?: readonly string[];
  /** Added to this process's environment; undefined removes a variable. */
  environment?: Readonly<Record<string, string | undefined>>;
  /** A free port unless told. */
  masterPort?: number;
  /** Where lines go; to this process's own output, with the rank before them, unless told. */
  onLine?: (line: OutputLine) => void;
  /** How long the others may still run after the first failure. Five seconds unless told. */
  graceMilliseconds?: number;
  /** Stops all ranks. */
  signal?: AbortSignal;
  /**
   * For commands: rank 0 has this process's terminal, signals are passed on and waited for however long the ranks
   * take, and the ranks die with this process even if it is killed.
   */
  isCommand?: boolean;
  /** Machines that run such a launcher each, and which of them this is. One unless told. */
  nodes?: { readonly count: number; readonly number: number; readonly masterAddress: string };
  /** Exit codes that are no failure. Only 0 unless told. */
  wellCodes?: readonly number[];
}

export interface OutputLine {
  rank: number;
  stream: "stdout" | "stderr";
  text: string;
}

/** How a rank ended. */
export interface RankResult {
  rank: number;
  /** Null when a signal ended it. */
  exitCode: number | null;
  signal: NodeJS.Signals | null;
  /** Whether launch stopped it because of another rank. */
  stopped: boolean;
  /** Its last lines, for the report. */
  lastLines: readonly string[];
}

/** At least one rank failed; the message says which one was first, and shows its last lines. */
export class LaunchError extends Error {
  override readonly name = "LaunchError";
  /** By rank. */
  readonly results: readonly RankResult[];
  /** The rank that failed first. */
  readonly first: RankResult;

  constructor(message: string, first: RankResult, results: readonly RankResult[]) {
    super(message);
    this.first = first;
    this.results = results;
  }
}

const LINES_KEPT = 20;
/** After SIGTERM, before SIGKILL. */
const KILL_AFTER_MILLISECONDS = 2000;

interface Rank {
  readonly child: ChildProcess;
  readonly lastLines: string[];
  stopped: boolean;
}

/**
 * Runs `file` (a path or file: URL, TypeScript or JavaScript) as several ranks. Resolves when all
 * have ended well, and rejects with a LaunchError when all have ended and one has not.
 */
export async function launch(file: string | URL, options: LaunchOptions): Promise<RankResult[]> {
  const { processes, onLine = printLine, graceMilliseconds = 5000, wellCodes = [0] } = options;
  if (!Number.isInteger(processes) || processes < 1)
    throw new Error(`processes: expected a whole number from 1, got ${processes}`);
  const port = options.masterPort ?? (await freePort());
  const ranks = Array.from({ length: processes }, (_, rank) =>
    startRank(file, rank, port, options),
  );
  const stopping = stopper(ranks);
  // A command's ranks finish and save what they do; whoever cannot wait says so again, and they end.
  const onSignal = (signal: NodeJS.Signals) =>
    options.isCommand ? stopping.send(signal) : stopping.stopAll(signal);
  const onAbort = () => stopping.stopAll("SIGTERM");
  const onExit = () => stopping.killAll();
  process.on("SIGINT", onSignal).on("SIGTERM", onSignal).on("SIGHUP", onSignal);
  process.on("exit", onExit);
  options.signal?.addEventListener("abort", onAbort);
  if (options.signal?.aborted) onAbort();

  let firstFailure: number | undefined;
  const onEnd = (rank: number, well: boolean) => {
    if (well || firstFailure !== undefined) return;
    firstFailure = rank;
    stopping.stopLater(graceMilliseconds);
  };
  try {
    const results = await Promise.all(
      ranks.map((started, rank) =>
        follow(started, rank, onLine, (number, code) =>
          onEnd(number, code !== null && wellCodes.includes(code)),
        ),
      ),
    );
    const first = firstFailure === undefined ? undefined : results[firstFailure];
    if (first) throw new LaunchError(describeFailure(first, results), first, results);
    return results;
  } finally {
    stopping.done();
    options.signal?.removeEventListener("abort", onAbort);
    process.off("SIGINT", onSignal).off("SIGTERM", onSignal).off("SIGHUP", onSignal);
    process.off("exit", onExit);
  }
}

function startRank(file: string | URL, rank: number, port: number, options: LaunchOptions): Rank {
  const path = file instanceof URL || file.startsWith("file:") ? fileURLToPath(file) : file;
  const typescript = /\.[cm]?ts$/.test(path);
  const { processes, isCommand = false, nodes } = options;
  const child = spawn(
    process.execPath,
    [
      ...(typescript ? ["--import", import.meta.resolve("tsx")] : []),
      path,
      ...(options.arguments ?? []),
    ],
    {
      stdio:
        isCommand && rank === 0 ? ["ignore", "inherit", "inherit"] : ["ignore", "pipe", "pipe"],
      // Ctrl-C goes to all that a terminal's command has started: the ranks get it once, from here.
      detached: isCommand,
      env: {
        ...process.env,
        // The ranks share the cores: without this each would start a thread for every one.
        OMP_NUM_THREADS: threadsPerRank(processes),
        ...options.environment,
        RANK: `${(nodes?.number ?? 0) * processes + rank}`,
        LOCAL_RANK: `${rank}`,
        WORLD_SIZE: `${(nodes?.count ?? 1) * processes}`,
        MASTER_ADDR: nodes?.masterAddress ?? "127.0.0.1",
        MASTER_PORT: `${port}`,
        ...(isCommand && { OPENMANUS_LAUNCHER_KILLS: "1" }),
        // The addon asks the kernel to end the rank when this process ends, however it ends.
        OPENMANUS_LAUNCHER: `${process.pid}`,
      },
    },
  );
  return { child, lastLines: [], stopped: false };
}

function threadsPerRank(processes: number): string {
  return (
    process.env.OMP_NUM_THREADS ?? `${Math.max(1, Math.floor(availableThreads() / processes))}`
  );
}

/** A port that nobody uses at the moment. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no free port was found");
  return address.port;
}

/** Reads a rank's output to its end and waits for the process. */
async function follow(
  started: Rank,
  rank: number,
  onLine: (line: OutputLine) => void,
  onEnd: (rank: number, exitCode: number | null) => void,
): Promise<RankResult> {
  const { child, lastLines } = started;
  const read = async (stream: "stdout" | "stderr") => {
    const input = child[stream] as Readable | null;
    if (input === null) return;
    for await (const text of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      lastLines.push(text);
      if (lastLines.length > LINES_KEPT) lastLines.shift();
      onLine({ rank, stream, text });
    }
  };
  const exit = new Promise<[number | null, NodeJS.Signals | null]>((resolve) => {
    child.once("exit", (exitCode, signal) => resolve([exitCode, signal]));
    child.once("error", (error) => {
      lastLines.push(`the process could not be started: ${error.message}`);
      resolve([1, null]);
    });
  });
  const reading = Promise.allSettled([read("stdout"), read("stderr")]);
  const [exitCode, signal] = await exit;
  onEnd(rank, exitCode);
  // A grandchild that holds the pipes open must not hold the launcher.
  await Promise.race([reading, new Promise((resolve) => setTimeout(resolve, 1000).unref())]);
  return { rank, exitCode, signal, stopped: started.stopped, lastLines };
}

function stopper(ranks: readonly Rank[]) {
  const timers: NodeJS.Timeout[] = [];
  const send = (signal: NodeJS.Signals) => {
    for (const rank of ranks) {
      if (rank.child.exitCode !== null || rank.child.signalCode !== null) continue;
      rank.stopped = true;
      rank.child.kill(signal);
    }
  };
  const stopAll = (signal: NodeJS.Signals) => {
    send(signal);
    timers.push(setTimeout(() => send("SIGKILL"), KILL_AFTER_MILLISECONDS));
  };
  return {
    send,
    stopAll,
    stopLater: (milliseconds: number) => {
      timers.push(setTimeout(() => stopAll("SIGTERM"), milliseconds));
    },
    killAll: () => send("SIGKILL"),
    done: () => timers.forEach(clearTimeout),
  };
}

function describeEnd({ exitCode, signal, stopped }: RankResult): string {
  const end = signal ? `ended by ${signal}` : `exit code ${exitCode}`;
  return stopped ? `${end}, stopped by the launcher` : end;
}

function describeFailure(first: RankResult, results: readonly RankResult[]): string {
  const others = results
    .filter((result) => result.rank !== first.rank)
    .map((result) => `rank ${result.rank}: ${describeEnd(result)}`);
  const lines = first.lastLines.map((line) => `\n  ${line}`).join("");
  return (
    `rank ${first.rank} of ${results.length} failed first (${describeEnd(first)})` +
    (others.length > 0 ? `; ${others.join(", ")}` : "") +
    (lines ? `. Its last lines:${lines}` : ". It wrote nothing")
  );
}

function printLine({ rank, stream, text }: OutputLine): void {
  process[stream].write(`[rank ${rank}] ${text}\n`);
}
