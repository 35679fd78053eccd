/**
 * @file Work in processes of its own, at most a few at once, which are killed when they do not answer in time:
 * what strangers wrote (a program, a query) may hold or end the process that runs it.
 *
 * The processes know none of our environment variables, nor where on earth this is. They do not keep this
 * program alive. `child.ts` is their side.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { ConfinedRequest } from "./child.ts";

export interface ConfinedPool<Work, Result> {
  /**
   * Undefined when there was no answer `time` milliseconds, and a second, after the work was given; the process
   * is killed then. Rejects when the process ended, `signal` aborts, or the pool is closed.
   */
  ask(work: Work, time: number, signal?: AbortSignal): Promise<Result | undefined>;
  isClosed(): boolean;
  close(): void;
}

/** Milliseconds for a process to start, and to answer after its work's time is over. */
const START = 30_000;
const GRACE = 1_000;

/** `script`: the module that a process runs, "./process" without its ending, and what it is relative to. */
export function confinedPool<Work, Result>(
  script: { readonly name: string; readonly base: string },
  flags: readonly string[],
  processes: number,
): ConfinedPool<Work, Result> {
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
    const child = startProcess(script, flags);
    all.add(child);
    child.on("exit", () => all.delete(child));
    // While nobody waits for it; whoever does listens too.
    child.on("error", () => stop(child));
    const ready = await answer(child, undefined, START, undefined).catch((error: Error) => error);
    if (ready === "ready") return child;
    stop(child);
    giveUp();
    throw new Error(
      ready instanceof Error ? ready.message : `the process did not start in ${START / 1000} s`,
    );
  }

  /** The place goes to whoever waits longest. */
  function giveUp(): void {
    const next = waiting.shift();
    if (next) next();
    else busy--;
  }

  return {
    async ask(work, time, signal) {
      signal?.throwIfAborted();
      const child = await take();
      try {
        const result = await answer(child, { work, time }, time + GRACE, signal);
        if (result === undefined) stop(child);
        else idle.push(child);
        return result as Result | undefined;
      } catch (error) {
        stop(child);
        signal?.throwIfAborted();
        throw error;
      } finally {
        giveUp();
      }
    },
    isClosed: () => closed,
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
  request: ConfinedRequest | undefined,
  time: number,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const finish = (end: () => void): void => {
      clearTimeout(timer);
      child.off("message", onMessage).off("exit", onExit).off("error", onError);
      signal?.removeEventListener("abort", onAbort);
      setAlive(child, false);
      end();
    };
    const onMessage = (said: unknown): void => finish(() => resolve(said));
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

function startProcess(
  { name, base }: { readonly name: string; readonly base: string },
  flags: readonly string[],
): ChildProcess {
  const isSource = base.endsWith(".ts");
  const file = fileURLToPath(new URL(`${name}.${isSource ? "ts" : "js"}`, base));
  const { resolve } = createRequire(import.meta.url);
  return spawn(
    process.execPath,
    [...flags, ...(isSource ? ["--import", pathToFileURL(resolve("tsx")).href] : []), file],
    { stdio: ["ignore", "ignore", "ignore", "ipc"], env: { TZ: "UTC" }, serialization: "json" },
  );
}
