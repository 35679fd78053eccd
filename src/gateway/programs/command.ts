/**
 * @file A program that is a command, started anew for each episode in a group of processes of its own. What it
 * prints is read up to a limit and never executed or believed: it is a text, whose last line may be JSON.
 */
import { type ChildProcess, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { EnvironmentError, type Json, variablesFor } from "../../environments/index.ts";
import { oneLine } from "../../network/index.ts";
import type { ProgramAnswer } from "./define.ts";
import { lastWords, type RunOptions, type Start } from "./run.ts";

/** The program and its arguments. There is no shell between. */
export type Command = readonly [string, ...string[]];

/** Bytes that a program may print. */
const MOST_OUTPUT = 4 * 2 ** 20;
/** Characters of its errors that are told. */
const TOLD = 600;

/** Those that run: none outlives this process if it can be helped. */
const groups = new Set<ChildProcess>();
let watches = false;

export async function runCommand<Data extends Json>(
  [file, ...words]: Command,
  { folder, variables }: RunOptions,
  { name, task, access, seed, signal }: Start<Data>,
): Promise<ProgramAnswer> {
  if (signal.aborted) throw signal.reason;
  const child = spawn(file, words, {
    ...(folder !== undefined && { cwd: folder }),
    // A group of its own: whatever it starts can be ended with it.
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...variablesFor({ processes: 1 }),
      ...variables,
      OPENAI_BASE_URL: access.baseURL,
      OPENAI_API_BASE: access.baseURL,
      OPENAI_API_KEY: access.apiKey,
      OPENAI_MODEL: access.model,
      ANTHROPIC_BASE_URL: access.anthropicBaseURL,
      ANTHROPIC_API_KEY: access.apiKey,
      OPENMANUS_TASK: JSON.stringify(task),
      OPENMANUS_SEED: String(seed),
    },
  });
  groups.add(child);
  watchExit();
  const fail = (problem: string) => new EnvironmentError(name, `the program ${file} ${problem}`);
  let stop: (() => void) | undefined;
  try {
    const stopped = new Promise<never>((_, reject) => {
      stop = () => reject(signal.reason);
      signal.addEventListener("abort", stop, { once: true });
    });
    stopped.catch(() => {});
    const failed = new Promise<never>((_, reject) =>
      child.once("error", (error: NodeJS.ErrnoException) =>
        reject(
          fail(
            error.code === "ENOENT" ? "cannot be found." : `cannot be started: ${error.message}`,
          ),
        ),
      ),
    );
    failed.catch(() => {});
    const talkative = () => fail(`printed more than ${MOST_OUTPUT} bytes, and was ended.`);
    const output = collected(child.stdout!, talkative);
    const errors = collected(child.stderr!, talkative);
    const exit = new Promise<[number | null, NodeJS.Signals | null]>((resolve) =>
      child.once("exit", (code, by) => resolve([code, by])),
    );
    const isOver = Promise.race([stopped, failed, output.excess, errors.excess]);
    const [code, by] = await Promise.race([isOver, exit]);
    // What it left running holds its pipes open: ended now, so that they end.
    endGroup(child);
    const text = await Promise.race([isOver, output.text]);
    if (code === 0) return lastWords(text);
    const said = (await errors.text).trim().slice(-TOLD);
    const how = by ? `was ended by ${by}` : `ended with code ${code}`;
    throw fail(`${how}${said ? `: ${oneLine(said, TOLD)}` : "."}`);
  } finally {
    signal.removeEventListener("abort", stop!);
    endGroup(child);
    groups.delete(child);
    child.stdout?.destroy();
    child.stderr?.destroy();
  }
}

/** All that is printed, up to the limit. */
function collected(
  stream: Readable,
  talkative: () => Error,
): { text: Promise<string>; excess: Promise<never> } {
  const pieces: Buffer[] = [];
  let size = 0;
  let exceed: (error: Error) => void = () => {};
  const excess = new Promise<never>((_, reject) => {
    exceed = reject;
  });
  excess.catch(() => {});
  const text = new Promise<string>((resolve) => {
    stream.on("data", (piece: Buffer) => {
      size += piece.length;
      if (size > MOST_OUTPUT) exceed(talkative());
      else pieces.push(piece);
    });
    const end = () => resolve(Buffer.concat(pieces).toString("utf8"));
    stream.on("close", end);
    stream.on("end", end);
    stream.on("error", end);
  });
  return { text, excess };
}

function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended already, with everything that it started.
  }
}

function watchExit(): void {
  if (watches) return;
  watches = true;
  process.once("exit", () => {
    for (const child of groups) endGroup(child);
  });
}
