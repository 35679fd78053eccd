/**
 * @file Runs code in processes of their own, at most a few at once, which are killed when they do not
 * answer in time: some built-in functions of the interpreter cannot be interrupted from inside.
 *
 * The processes know none of our environment variables. They do not keep this program alive.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { CodeRequest } from "./process.ts";
import type { CodeLimits, CodeResult } from "./run.ts";

export interface Sandbox {
  /** Never rejects for what the code does, only when `signal` says so or the sandbox is closed. */
  run(code: string, signal?: AbortSignal): Promise<CodeResult>;
  close(): void;
}

/** Milliseconds for a process to start, and to answer after its code's time is over. */
const START = 30_000;
const GRACE = 1_000;
/** Longer code is nobody's. */
const LONGEST_CODE = 100_000;

export function createSandbox(limits: CodeLimits, processes = 2): Sandbox {
  const idle: ChildProcess[] = [];
  const all = new Set<ChildProcess>();
  const waiting: (() => void)[] = [];
  let busy = 0;
  let closed = false;

  const stop = (child: ChildProcess): void => {
    all.delete(child);
    child.kill("SIGKILL");
  };

  async function take(): Promise<ChildProcess> {
    if (busy >= processes) await new Promise<void>((resolve) => waiting.push(resolve));
    else busy++;
    if (closed) {
      giveUp();
      throw new Error("the sandbox was closed");
    }
    for (let child = idle.pop(); child; child = idle.pop()) if (child.connected) return child;
    const child = startProcess();
    all.add(child);
    child.on("exit", () => all.delete(child));
    // While nobody waits for it; whoever does listens too.
    child.on("error", () => stop(child));
    const ready = await answer(child, undefined, START, undefined).catch((error: Error) => error);
    if (ready === "ready") return child;
    stop(child);
    giveUp();
    throw new Error(
      ready instanceof Error ? ready.message : `the interpreter did not start in ${START / 1000} s`,
    );
  }

  /** The place goes to whoever waits longest. */
  function giveUp(): void {
    const next = waiting.shift();
    if (next) next();
    else busy--;
  }

  return {
    async run(code, signal) {
      if (code.length > LONGEST_CODE)
        return { printed: "", error: `it is longer than ${LONGEST_CODE} characters` };
      signal?.throwIfAborted();
      const child = await take();
      try {
        const result = await answer(child, { code, limits }, limits.time + GRACE, signal);
        if (result) {
          idle.push(child);
          return result as CodeResult;
        }
        stop(child);
        const seconds = limits.time / 1000;
        return { printed: "", error: `it took longer than ${seconds} s and was stopped` };
      } catch (error) {
        stop(child);
        signal?.throwIfAborted();
        if (closed) throw error;
        return { printed: "", error: `it ended the interpreter (${(error as Error).message})` };
      } finally {
        giveUp();
      }
    },
    close() {
      closed = true;
      for (const child of all) stop(child);
      for (const next of waiting.splice(0)) next();
    },
  };
}

/** The next message; undefined when none came in time. Rejects when the process ended. */
function answer(
  child: ChildProcess,
  request: CodeRequest | undefined,
  time: number,
  signal: AbortSignal | undefined,
): Promise<CodeResult | "ready" | undefined> {
  return new Promise((resolve, reject) => {
    const finish = (end: () => void): void => {
      clearTimeout(timer);
      child.off("message", onMessage).off("exit", onExit).off("error", onError);
      signal?.removeEventListener("abort", onAbort);
      setAlive(child, false);
      end();
    };
    const onMessage = (said: unknown): void => finish(() => resolve(said as CodeResult | "ready"));
    const onExit = (code: number | null, killed: string | null): void =>
      finish(() => reject(new Error(killed ?? `exit code ${code}`)));
    const onError = (error: Error): void => finish(() => reject(error));
    const onAbort = (): void => finish(() => reject(signal?.reason));
    const timer = setTimeout(() => finish(() => resolve(undefined)), time);
    child.on("message", onMessage).on("exit", onExit).on("error", onError);
    signal?.addEventListener("abort", onAbort);
    setAlive(child, true);
    if (request)
      child.send(request, (error) => {
        if (error) onError(error);
      });
  });
}

/** Whether this program waits for the process. */
function setAlive(child: ChildProcess, alive: boolean): void {
  child[alive ? "ref" : "unref"]();
  child.channel?.[alive ? "ref" : "unref"]();
}

function startProcess(): ChildProcess {
  const own = fileURLToPath(import.meta.url);
  const isSource = own.endsWith(".ts");
  const file = fileURLToPath(new URL(isSource ? "./process.ts" : "./process.js", import.meta.url));
  const { resolve } = createRequire(import.meta.url);
  return spawn(
    process.execPath,
    [
      // Deep recursion must end in the interpreter's own limit, not in V8's.
      ...["--stack-size=3500", "--max-old-space-size=128", "--expose-gc"],
      ...(isSource ? ["--import", pathToFileURL(resolve("tsx")).href] : []),
      file,
    ],
    { stdio: ["ignore", "ignore", "ignore", "ipc"], env: {}, serialization: "json" },
  );
}
