/**
 * @file A world's process, seen from the outside: started, asked, and ended when it does not answer or talks
 * nonsense. What it says is foreign input, whatever we made it run.
 *
 * Many episodes share a process. Where it ends or freezes, one of them did it: the one whose call was begun
 * last and is not answered. The others are blameless, and are begun again elsewhere at no cost.
 */
import { type ChildProcess, spawn } from "node:child_process";
import type { Socket } from "node:net";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { EnvironmentError } from "../environment.ts";
import { TimeLimitError, within } from "../foreign/within.ts";
import { lineReader, MARKS, PIPE, type Request } from "./messages.ts";
import { type IsolateOptions, variablesFor } from "./options.ts";
import { showOutput } from "./output.ts";

export interface WorldProcess {
  /** Why it is no more; undefined: it lives. */
  readonly death: string | undefined;
  /** Asks; rejects with what the world answered, with its being late, or with the process's end. */
  ask(request: Request): Promise<unknown>;
  /** What goes wrong in this environment outside of its calls, from now on. */
  onFault(environment: number, listener: ((sentence: string) => void) | undefined): void;
  /** Closes its world, and ends it. */
  end(): Promise<void>;
  kill(reason: string): void;
}

const START = fileURLToPath(new URL("../../../bin/world.mjs", import.meta.url));
/** Megabytes of JavaScript's memory, and seconds of a step, where nobody says otherwise. */
const MEMORY = 2048;
const STEP_SECONDS = 120;
/** How long a process that may be frozen has for any answer at all. */
const PROBE = { seconds: 3 };
const END = { seconds: 20 };
/** Milliseconds that are left to what a process said before it ended. */
const LAST_WORDS = 200;
/** What Node's timers can wait. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** Calls of the world that an episode waits for, as messages name them. */
const TIMED: Readonly<Partial<Record<Request["call"], string>>> = {
  reset: "reset()",
  step: "step()",
  act: "its expert",
};

interface Waiting {
  readonly request: Request;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
  timer?: NodeJS.Timeout | undefined;
}

/** `name`: the world's, for messages. */
export function startProcess(name: () => string, options: IsolateOptions): WorldProcess {
  const child = spawn(
    process.execPath,
    [`--max-old-space-size=${options.memory ?? MEMORY}`, START, String(process.pid)],
    { stdio: ["ignore", "pipe", "pipe", "pipe", "pipe"], env: variablesFor(options) },
  );
  const pipe = child.stdio[PIPE] as unknown as Socket;
  const marks = child.stdio[MARKS] as unknown as Socket;
  showOutput(name, [child.stdout, child.stderr] as Readable[]);
  hold(child, false);
  const seconds = options.stepSeconds ?? STEP_SECONDS;
  /** By the number of their request. */
  const waiting = new Map<number, Waiting>();
  /** Given up: their answers are of no interest any more. */
  const late = new Set<number>();
  const faults = new Map<number, (sentence: string) => void>();
  let asked = 0;
  let lastBegun = 0;
  let death: string | undefined;
  let disbelieved = false;
  let probing: Promise<void> | undefined;

  function take(id: number): Waiting | undefined {
    const one = waiting.get(id);
    clearTimeout(one?.timer);
    waiting.delete(id);
    if (waiting.size === 0) hold(child, false);
    return one;
  }

  function die(reason: string): void {
    if (death !== undefined) return;
    death = reason;
    child.kill("SIGKILL");
    for (const stream of [pipe, marks]) stream.destroy();
    for (const id of [...waiting.keys()]) {
      const blameless = id !== lastBegun;
      take(id)!.reject(
        new EnvironmentError(name(), deathSentence(reason), { blameless, kind: "ended" }),
      );
    }
    faults.clear();
  }

  /**
   * What it said shows that it is broken. A call's mark was written before anything that the call says, but comes by
   * another pipe: what is there is read first, or the blame falls on whoever began before.
   */
  function disbelieve(reason: string): void {
    disbelieved = true;
    pipe.pause();
    setImmediate(() => setImmediate(() => die(reason)));
  }

  /** Ends the process unless it answers soon. */
  function probe(): Promise<void> {
    probing ??= within(PROBE, "ping", ask({ call: "ping" }))
      .then(
        () => {},
        () => die("it was frozen, and was ended"),
      )
      .finally(() => {
        probing = undefined;
      });
    return probing;
  }

  /** A call has its time from when the world is called: those that wait behind others are not late. */
  function watch(id: number, one: Waiting): void {
    const what = TIMED[one.request.call];
    if (what === undefined || seconds * 1000 > LONGEST_TIMER) return;
    clearTimeout(one.timer);
    one.timer = setTimeout(async () => {
      await probe();
      if (death !== undefined || !take(id)) return;
      late.add(id);
      const sentence = `${what} did not answer within ${seconds} s (env.rollout.step_seconds)`;
      one.reject(new EnvironmentError(name(), sentence, { cause: new TimeLimitError(sentence) }));
    }, seconds * 1000);
  }

  function onLine(line: string): void {
    if (disbelieved) return;
    const said = parsed(line);
    if (!said) disbelieve("it said something that is no answer, and was ended");
    else if ("fault" in said) faults.get(said.environment)?.(said.fault);
    else {
      const one = take(said.id);
      if (!one && !late.delete(said.id)) disbelieve("it answered what nobody asked, and was ended");
      else if ("error" in said) one?.reject(new EnvironmentError(name(), said.error));
      else one?.resolve(said.value);
    }
  }

  function ask(request: Request): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (death !== undefined) {
        reject(
          new EnvironmentError(name(), deathSentence(death), { blameless: true, kind: "ended" }),
        );
        return;
      }
      const id = ++asked;
      if (waiting.size === 0) hold(child, true);
      const one: Waiting = { request, resolve, reject };
      waiting.set(id, one);
      watch(id, one);
      pipe.write(`${JSON.stringify({ ...request, id })}\n`);
    });
  }

  function onMark(line: string): void {
    const id = Number(line);
    const one = waiting.get(id);
    // Of one that was answered in the meantime, nothing is left to be known.
    if (!one) return;
    lastBegun = id;
    watch(id, one);
  }

  for (const [stream, onText] of [
    [pipe, onLine],
    [marks, onMark],
  ] as const) {
    const read = lineReader(onText);
    stream.on("data", (chunk: Buffer) => {
      if (!read(chunk)) disbelieve("it sent an answer without end, and was ended");
    });
    stream.on("error", () => {});
  }
  child.on("error", (error) => die(`it could not be started: ${error.message}`));
  child.on("exit", (code, signal) => {
    // What it said before its end comes first. (Processes of its own may hold the pipes for ever.)
    const ended = () => die(exitReason(code, signal));
    child.once("close", ended);
    setTimeout(ended, LAST_WORDS);
  });

  return {
    get death() {
      return death;
    },
    ask,
    onFault(environment, listener) {
      if (listener) faults.set(environment, listener);
      else faults.delete(environment);
    },
    async end() {
      await probe();
      // One that has ended has nothing left to close.
      if (death !== undefined) return;
      try {
        await within(END, "close()", ask({ call: "end" }));
      } finally {
        die("its world is closed");
      }
    },
    kill: die,
  };
}

/**
 * Whether this program waits for the process: while it was asked something. A program that forgets to close
 * its world ends all the same, and the process with it.
 */
function hold(child: ChildProcess, held: boolean): void {
  const change = held ? "ref" : "unref";
  child[change]();
  for (const stream of child.stdio as (Socket | null)[])
    if (stream && !stream.destroyed) stream[change]();
}

function deathSentence(reason: string): string {
  return `its process has ended: ${reason}.`;
}

function exitReason(code: number | null, signal: NodeJS.Signals | null): string {
  if (signal === "SIGABRT")
    return "SIGABRT, mostly because it had no memory left (env.isolate_memory_mb)";
  return signal === null ? `exit code ${code}` : `signal ${signal}`;
}

type Said =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: string }
  | { readonly fault: string; readonly environment: number };

function parsed(line: string): Said | undefined {
  let said: unknown;
  try {
    said = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (typeof said !== "object" || said === null) return undefined;
  const { id, value, error, fault, environment } = said as Record<string, unknown>;
  if (typeof fault === "string" && typeof environment === "number") return { fault, environment };
  if (typeof id !== "number") return undefined;
  if (typeof error === "string") return { id, error };
  return value === undefined ? undefined : { id, value };
}
