/**
 * @file The peers: a virtual environment of Python, outside the repository, that is made once and used again
 * while its requirements stay the same. OPENMANUS_INTEROP says where; default: our folder in ~/.cache.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const SCRIPTS = fileURLToPath(new URL("./python/", import.meta.url));
const REQUIREMENTS = join(SCRIPTS, "requirements.txt");

/** Nothing is looked up on the web, and nothing is told to anybody. */
const QUIET = {
  HF_HUB_OFFLINE: "1",
  HF_HUB_DISABLE_TELEMETRY: "1",
  TOKENIZERS_PARALLELISM: "false",
  MLFLOW_DISABLE_TELEMETRY: "true",
  DO_NOT_TRACK: "true",
};

export interface Peers {
  /** Where the environment is. */
  readonly folder: string;
  /** Its interpreter. */
  readonly python: string;
  /**
   * Runs python/SCRIPT with a request in a file and gives what it wrote as its answer. Both are JSON.
   */
  ask<Answer>(script: string, place: string, request: unknown): Promise<Answer>;
  /** Starts `python -m …`; the caller stops it. */
  start(words: readonly string[], variables?: Readonly<Record<string, string>>): PeerProcess;
  /** Starts python/SCRIPT, which goes on until the caller stops it. */
  serve(script: string, ...words: string[]): PeerProcess;
}

export interface PeerProcess {
  /** Everything that it said. */
  readonly output: () => string;
  readonly hasEnded: () => boolean;
  stop(): Promise<void>;
}

/** There are no peers here, and nobody is to blame. */
export class NoPeers extends Error {}

/** Makes the environment where it is missing or old. `say` hears what takes long. */
export async function findPeers(say: (text: string) => void): Promise<Peers> {
  const version = await outputOf("python3", ["--version"]);
  if (version.code !== 0) throw new NoPeers("there is no python3");
  const folder = process.env.OPENMANUS_INTEROP || join(cacheFolder(), "openmanus-rl", "interop");
  const python = join(folder, "venv", "bin", "python");
  const stamp = createHash("sha256")
    .update(`${version.text.trim()}\n${readFileSync(REQUIREMENTS, "utf8")}`)
    .digest("hex");
  const stampFile = join(folder, "stamp");
  const known = existsSync(stampFile) && readFileSync(stampFile, "utf8").trim();
  if (known !== stamp || !existsSync(python)) {
    say("making a virtual environment with the peers, once (minutes, 6 GB) …");
    // Only what is ours: the folder may be any.
    rmSync(stampFile, { force: true });
    await install(folder, python);
    writeFileSync(stampFile, `${stamp}\n`);
  }
  return {
    folder,
    python,
    async ask(script, place, request) {
      const [question, answer] = [join(place, "request.json"), join(place, "answer.json")];
      writeFileSync(question, JSON.stringify(request));
      const { code, text } = await outputOf(python, [
        "-B",
        join(SCRIPTS, script),
        question,
        answer,
      ]);
      if (code !== 0) throw new Error(`${script} failed:\n${lastLines(text, 15)}`);
      return JSON.parse(readFileSync(answer, "utf8"));
    },
    start: (words, variables = {}) => started(python, ["-m", ...words], variables),
    serve: (script, ...words) => started(python, ["-B", join(SCRIPTS, script), ...words], {}),
  };
}

function cacheFolder(): string {
  return process.env.XDG_CACHE_HOME || join(homedir(), ".cache");
}

async function install(folder: string, python: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  rmSync(join(folder, "venv"), { recursive: true, force: true });
  const venv = await outputOf("python3", ["-m", "venv", join(folder, "venv")]);
  // Debian has python3 without it; that is a Python that cannot have peers.
  if (venv.code !== 0) throw new NoPeers(`python3 makes no virtual environment: ${lastLine(venv)}`);
  const words = ["-m", "pip", "install", "--disable-pip-version-check", "--no-input"];
  const pip = await outputOf(python, [...words, "--progress-bar", "off", "-r", REQUIREMENTS]);
  if (pip.code === 0) return;
  // On a machine of ours a missing peer is a failure: nobody would notice that nothing is checked.
  if (process.env.CI === "true")
    throw new Error(`pip could not install the peers:\n${lastLines(pip.text, 15)}`);
  throw new NoPeers(`pip could not install the peers: ${lastLine(pip)}`);
}

interface Output {
  readonly code: number | null;
  /** What it said, on both channels. */
  readonly text: string;
}

/** What hangs is ended. Milliseconds. */
const LONGEST = 20 * 60 * 1000;

async function outputOf(command: string, words: readonly string[]): Promise<Output> {
  const child = spawn(command, words, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...QUIET },
    timeout: LONGEST,
  });
  const output = collected(child);
  return new Promise((resolve) => {
    child.on("error", (error) => resolve({ code: null, text: error.message }));
    child.on("close", (code) => resolve({ code, text: output() }));
  });
}

function collected(child: ChildProcess): () => string {
  const pieces: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (piece: Buffer) => pieces.push(piece));
  return () => Buffer.concat(pieces).toString("utf8");
}

function started(
  python: string,
  words: readonly string[],
  variables: Readonly<Record<string, string>>,
): PeerProcess {
  // A group of its own: servers have children, which would stay when only they are stopped.
  const child = spawn(python, words, {
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
    env: { ...process.env, ...QUIET, ...variables },
  });
  const ended = new Promise<void>((resolve) => {
    child.on("error", () => resolve());
    child.on("close", () => resolve());
  });
  let hasEnded = false;
  void ended.then(() => {
    hasEnded = true;
  });
  const signal = (name: NodeJS.Signals) => {
    if (hasEnded || child.pid === undefined) return;
    try {
      process.kill(-child.pid, name);
    } catch {
      // It ended at this very moment.
    }
  };
  return {
    output: collected(child),
    hasEnded: () => hasEnded,
    async stop() {
      signal("SIGTERM");
      const timer = setTimeout(() => signal("SIGKILL"), 5000);
      await ended;
      clearTimeout(timer);
    },
  };
}

function lastLines(text: string, count: number): string {
  return text.trimEnd().split("\n").slice(-count).join("\n");
}

function lastLine({ text }: Output): string {
  return lastLines(text, 1) || "it said nothing";
}
