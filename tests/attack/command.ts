/**
 * @file The real command in a process of its own: what it says, how large it gets, how it ends.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

const COMMAND = fileURLToPath(new URL("../../bin/openmanus-rl.mjs", import.meta.url));

export interface Started {
  readonly child: ChildProcess;
  /** Everything it has said so far. */
  readonly out: () => string;
  readonly errors: () => string;
  /** Megabytes that it holds now, and that it has held at most; undefined where the system does not say. */
  memory(): { now: number; most: number } | undefined;
}

export function start(words: readonly string[], variables: NodeJS.ProcessEnv = {}): Started {
  const child = spawn(process.execPath, [COMMAND, ...words], {
    env: { ...process.env, ...variables },
  });
  let out = "";
  let errors = "";
  child.stdout.on("data", (piece: Buffer) => {
    out += piece.toString();
  });
  child.stderr.on("data", (piece: Buffer) => {
    errors += piece.toString();
  });
  return {
    child,
    out: () => out,
    errors: () => errors,
    memory() {
      const file = `/proc/${child.pid}/status`;
      if (!existsSync(file)) return undefined;
      const text = readFileSync(file, "utf8");
      const megabytes = (name: string) =>
        Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(text)?.[1] ?? Number.NaN) / 1024;
      return { now: megabytes("VmRSS"), most: megabytes("VmHWM") };
    },
  };
}

/** A server that says in one line of JSON where it is; it is ended with the test, or by `stop`. */
export async function startServer(words: readonly string[], variables: NodeJS.ProcessEnv = {}) {
  const started = start([...words, "--json"], variables);
  while (!started.out().includes("\n")) {
    if (started.child.exitCode !== null) throw new Error(`it ended: ${started.errors()}`);
    await Promise.race([once(started.child.stdout!, "data"), once(started.child, "exit")]);
  }
  const { url } = JSON.parse(started.out().split("\n", 1)[0]!) as { url: string };
  return { ...started, url, port: Number(new URL(url).port) };
}

export type RunningServer = Awaited<ReturnType<typeof startServer>>;

/** Ended with the test that it is started in. */
export function endWithTest({ child }: Started): void {
  onTestFinished(() => void child.kill("SIGKILL"));
}

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly errors: string;
  /** Milliseconds from its start to its end. */
  readonly time: number;
  /** Megabytes that it has held at most, as far as the system says. */
  readonly memory: number;
}

/** Milliseconds after which a command has hung. */
const LONGEST = 45_000;

/** Runs the command to its end. */
export async function run(
  words: readonly string[],
  variables: NodeJS.ProcessEnv = {},
): Promise<Ended> {
  const begun = performance.now();
  const started = start(words, variables);
  const end = setTimeout(() => started.child.kill("SIGKILL"), LONGEST);
  let memory = 0;
  const watching = setInterval(() => {
    memory = Math.max(memory, started.memory()?.most || 0);
  }, 20);
  const [code] = (await once(started.child, "close")) as [number | null];
  clearInterval(watching);
  clearTimeout(end);
  const time = performance.now() - begun;
  return { code, out: started.out(), errors: started.errors(), time, memory };
}
