/**
 * @file A server that is a program: messages are lines on its standard input and output.
 */
import type { ChildProcess, ChildProcessWithoutNullStreams } from "node:child_process";
import { endGroup, startGroup } from "../../../processes/index.ts";
import {
  type Incoming,
  LARGEST_MESSAGE,
  readMessage,
  replyTo,
  resultOf,
  type Transport,
} from "./message.ts";

/** All that a server sees of our environment; keys and passwords are not its affair. */
const VARIABLES = ["HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER"];
const ERRORS_KEPT = 1000;
/** Characters that a server may send unasked, and leave unread, from one request to the next. */
const MOST_UNASKED = 50_000_000;
const MOST_UNREAD = 10_000_000;

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

export function startServer(command: string, words: readonly string[]): Transport {
  const known = VARIABLES.filter((name) => process.env[name] !== undefined);
  const child = startGroup(command, words, {
    env: Object.fromEntries(known.map((name) => [name, process.env[name]])),
  });
  const waiting = new Map<number, Waiting>();
  let errors = "";
  let ended: Error | undefined;

  const end = (reason: string): void => {
    if (ended) return;
    const said = errors.trim() === "" ? "" : `; its last words: ${errors.trim()}`;
    ended = new Error(`the server ${reason}${said}`);
    endGroup(child);
    for (const { reject } of waiting.values()) reject(ended);
    waiting.clear();
  };
  child.on("error", (error) => end(`could not be started (${error.message})`));
  child.on("exit", (code, signal) => end(`ended (${signal ?? `exit code ${code}`})`));
  child.stdin.on("error", () => end("stopped listening"));
  child.stderr.on("data", (bytes: Buffer) => {
    errors = (errors + bytes.toString()).slice(-ERRORS_KEPT);
  });
  /** This program waits for the server only while the server owes it an answer. */
  const setAlive = (alive: boolean): void => {
    for (const part of [child, child.stdin, child.stdout, child.stderr])
      (part as Partial<Pick<ChildProcess, "ref" | "unref">>)[alive ? "ref" : "unref"]?.();
  };
  const send = (message: object): void => {
    if (ended) return;
    child.stdin.write(`${JSON.stringify(message)}\n`);
    if (child.stdin.writableLength > MOST_UNREAD) end("does not read what it is sent");
  };
  let unasked = 0;
  const receive = (message: Incoming | undefined, length: number): void => {
    unasked += length;
    if (unasked > MOST_UNASKED) end("sends messages without end that nobody asked for");
    if (ended || !message) return;
    if (message.method !== undefined) {
      if (message.id !== undefined) send(replyTo(message));
      return;
    }
    const entry = typeof message.id === "number" ? waiting.get(message.id) : undefined;
    if (!entry) return;
    waiting.delete(message.id as number);
    try {
      entry.resolve(resultOf(message));
    } catch (error) {
      entry.reject(error as Error);
    }
  };
  readLines(child, receive, () => end("sent a line without end"));

  return {
    get isOpen() {
      return ended === undefined;
    },
    request(request, signal) {
      if (ended) return Promise.reject(ended);
      return new Promise((resolve, reject) => {
        const onAbort = (): void => {
          // What does not answer now is not waited for again: the next call starts it anew.
          end("did not answer in time");
          reject(signal.reason);
        };
        const done = (): void => {
          signal.removeEventListener("abort", onAbort);
          setAlive(waiting.size > 0);
        };
        setAlive(true);
        unasked = 0;
        signal.addEventListener("abort", onAbort, { once: true });
        waiting.set(request.id, {
          resolve: (result) => {
            done();
            resolve(result);
          },
          reject: (error) => {
            done();
            reject(error);
          },
        });
        send(request);
      });
    },
    async notify(notification) {
      send(notification);
    },
    close: () => end("was closed"),
  };
}

/** Lines that are no messages are passed over: some servers print to their standard output. */
function readLines(
  { stdout }: ChildProcessWithoutNullStreams,
  onLine: (message: Incoming | undefined, length: number) => void,
  onFlood: () => void,
): void {
  let pieces: string[] = [];
  let length = 0;
  stdout.setEncoding("utf8");
  stdout.on("data", (text: string) => {
    const lines = text.split("\n");
    for (const [index, line] of lines.entries()) {
      pieces.push(line);
      length += line.length;
      if (length > LARGEST_MESSAGE) {
        pieces = [];
        length = 0;
        onFlood();
        return;
      }
      if (index === lines.length - 1) break;
      const whole = pieces.join("");
      pieces = [];
      length = 0;
      onLine(readMessage(whole), whole.length + 1);
    }
  });
}
