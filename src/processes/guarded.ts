/**
 * @file Programs that must never outlive us, however we end: servers that hold gigabytes. A shell stands at the head of
 * their group and waits for the end of its input, which only we have the other end of. A process that is killed
 * (SIGKILL) cannot tell anybody, but its pipes are closed by the system: then the shell ends the group.
 */
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { endGroup, startGroup } from "./group.ts";

export interface GuardedOptions {
  readonly command: string;
  readonly words: readonly string[];
  /** Besides those of this process. */
  readonly variables?: Readonly<Record<string, string>>;
  /** A folder that is removed when this process ends without ending the program: what lies in memory there. */
  readonly removes?: string | undefined;
}

export interface GuardedProgram {
  /** The head of its group. */
  readonly pid: number | undefined;
  /** How it ended, as a sentence; undefined: it runs. */
  readonly end: string | undefined;
  /** Resolves when it has ended. */
  readonly ended: Promise<string>;
  /** The last lines of what it said, on both channels. */
  lastWords(lines?: number): string;
  /** Asks the program and all that it started to end, and ends what does not. */
  stop(): Promise<void>;
}

/**
 * $1: the folder to remove; then the program and its words. The shell itself must stay until the program has ended;
 * so must the one that reads, whatever the group is sent.
 */
const GUARD = `
trap : TERM INT HUP
exec 3<&0
folder=$1
shift
"$@" </dev/null 3<&- &
program=$!
(
  trap '' TERM INT HUP
  read -r line <&3
  kill -TERM "-$$"
  sleep 3
  if [ -n "$folder" ]; then rm -rf -- "$folder"; fi
  kill -KILL "-$$"
) &
exec 3<&-
wait "$program"
code=$?
while kill -0 "$program" 2>/dev/null; do
  wait "$program"
  code=$?
done
exit "$code"
`;

/** Milliseconds that a program has to end by itself. */
const PATIENCE = 5000;
/** Characters of its output that are kept. */
const KEPT = 64 * 1024;

export function startGuarded(options: GuardedOptions): GuardedProgram {
  const { command, words, variables, removes = "" } = options;
  const child = startGroup("/bin/sh", ["-c", GUARD, "guard", removes, command, ...words], {
    env: { ...process.env, ...variables },
  });
  let said = "";
  const hear = (piece: Buffer): void => {
    said = (said + piece.toString("utf8")).slice(-KEPT);
  };
  for (const stream of [child.stdout, child.stderr]) stream.on("data", hear);
  // It is closed when the program ends.
  child.stdin.on("error", () => {});
  let end: string | undefined;
  const ended = new Promise<string>((resolve) => {
    const finish = (how: string): void => {
      end ??= how;
      // What it started goes with it.
      endGroup(child);
      resolve(end);
    };
    child.on("error", (error) => finish(`it could not be started: ${error.message}`));
    child.on("exit", (code, signal) => finish(sentenceOf(code, signal)));
  });
  // A run that has nothing else to do does not wait for it.
  unreferenced(child);
  return {
    pid: child.pid,
    get end() {
      return end;
    },
    ended,
    lastWords: (lines = 15) => said.trimEnd().split("\n").slice(-lines).join("\n"),
    async stop() {
      if (end !== undefined) return;
      const timer = setTimeout(() => endGroup(child), PATIENCE);
      try {
        process.kill(-child.pid!, "SIGTERM");
      } catch {
        // It has ended at this very moment.
      }
      await ended;
      clearTimeout(timer);
    },
  };
}

function unreferenced(child: ChildProcessWithoutNullStreams): void {
  child.unref();
  for (const stream of [child.stdin, child.stdout, child.stderr])
    (stream as unknown as { unref?: () => void }).unref?.();
}

/** 128 + N is how a shell says that a program was ended by signal N. */
function sentenceOf(code: number | null, signal: NodeJS.Signals | null): string {
  if (signal !== null) return `it was ended by ${signal}`;
  return code !== null && code > 128
    ? `it was ended by signal ${code - 128}`
    : `it ended with ${code}`;
}
