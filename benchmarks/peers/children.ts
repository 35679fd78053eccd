/**
 * @file Everybody is measured in a process of their own, so that only one engine is in memory at a time and its peak
 * is its own. A request goes there in a file, and an answer comes back in another; both are JSON.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type EnvironmentName, pythonOf } from "./environments.ts";

/** What hangs is ended. Milliseconds. */
const LONGEST = 40 * 60 * 1000;

export interface ChildOptions {
  readonly threads: number;
  readonly say: (text: string) => void;
}

/** Runs ours/PROGRAM. */
export function askOurs<Answer>(
  program: string,
  request: object,
  options: ChildOptions,
): Promise<Answer> {
  const path = fileURLToPath(new URL(`./ours/${program}`, import.meta.url));
  return ask(process.execPath, ["--import", "tsx", path], request, options);
}

/** Runs python/SCRIPT in the environment that it needs. */
export function askPython<Answer>(
  environment: EnvironmentName,
  script: string,
  request: object,
  options: ChildOptions,
): Promise<Answer> {
  const path = fileURLToPath(new URL(`./python/${script}`, import.meta.url));
  return askScript(environment, path, request, options);
}

/** Runs a script of another folder. */
export async function askScript<Answer>(
  environment: EnvironmentName,
  path: string,
  request: object,
  options: ChildOptions,
): Promise<Answer> {
  const python = pythonOf(environment, options.say);
  return ask(python, ["-B", path], request, options, preloaded(environment, python));
}

async function ask<Answer>(
  command: string,
  words: readonly string[],
  request: object,
  { threads }: ChildOptions,
  more: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const place = mkdtempSync(join(tmpdir(), "openmanus-peers-"));
  try {
    const [question, answer] = [join(place, "request.json"), join(place, "answer.json")];
    writeFileSync(question, JSON.stringify({ ...request, threads, place }));
    const child = spawn(command, [...words, question, answer], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...variables(threads), ...more },
      timeout: LONGEST,
    });
    let said = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (piece: Buffer) => {
        said = (said + piece.toString()).slice(-100_000);
      });
    const code = await new Promise<number | string | null>((resolve) => {
      child.on("error", (error) => resolve(error.message));
      child.on("close", (status, signal) => resolve(status ?? signal));
    });
    if (code !== 0) throw new Error(`${words.at(-1)} ended with ${code}:\n${lastLines(said, 15)}`);
    return JSON.parse(readFileSync(answer, "utf8")) as Answer;
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

/** vLLM asks for Intel's OpenMP, which it brings, with these settings of its own. */
function preloaded(environment: EnvironmentName, python: string): Record<string, string> {
  const library = join(dirname(dirname(python)), "lib", "libiomp5.so");
  if (environment !== "vllm" || !existsSync(library)) return {};
  return { LD_PRELOAD: library, KMP_BLOCKTIME: "5", KMP_TPAUSE: "0" };
}

/** The same number of threads for everybody; nothing is looked up on the web, and nothing told to anybody. */
function variables(threads: number): Record<string, string> {
  return {
    OMP_NUM_THREADS: String(threads),
    MKL_NUM_THREADS: String(threads),
    HF_HUB_OFFLINE: "1",
    HF_HUB_DISABLE_TELEMETRY: "1",
    TOKENIZERS_PARALLELISM: "false",
    DO_NOT_TRACK: "true",
    VLLM_NO_USAGE_STATS: "1",
    TRL_EXPERIMENTAL_SILENCE: "1",
  };
}

function lastLines(text: string, count: number): string {
  return text.trimEnd().split("\n").slice(-count).join("\n");
}
