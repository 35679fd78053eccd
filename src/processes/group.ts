/**
 * @file Programs that are started as the head of a group of their own, so that all that they start goes
 * with them: when they are stopped, and when this process ends, in whatever way it can still notice.
 *
 * A group of its own does not get the terminal's Ctrl-C, so signals that would end this process are
 * passed on as an end. Only SIGKILL leaves a group behind; its head then finds its input closed.
 */
import {
  type ChildProcessWithoutNullStreams,
  type SpawnOptionsWithoutStdio,
  spawn,
} from "node:child_process";

const ENDINGS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const running = new Set<ChildProcessWithoutNullStreams>();

export function startGroup(
  command: string,
  words: readonly string[],
  options: SpawnOptionsWithoutStdio,
): ChildProcessWithoutNullStreams {
  const child = spawn(command, words, { ...options, detached: true });
  // Without a number it was not started, and "error" comes.
  if (child.pid !== undefined) {
    if (running.size === 0) listen(true);
    running.add(child);
  }
  return child;
}

/** Ends the program and everything in its group. Once it is called, it does nothing more. */
export function endGroup(child: ChildProcessWithoutNullStreams): void {
  if (!running.delete(child)) return;
  if (running.size === 0) listen(false);
  try {
    process.kill(-child.pid!, "SIGKILL");
  } catch {
    // There is nobody left in it; or there are no groups here, and the program alone can be ended.
    child.kill("SIGKILL");
  }
}

function listen(on: boolean): void {
  process[on ? "on" : "off"]("exit", endAll);
  for (const name of ENDINGS) process[on ? "on" : "off"](name, onSignal);
}

function endAll(): void {
  for (const child of [...running]) endGroup(child);
}

/** Whoever else listens decides what becomes of this process. Otherwise it ends, as without us. */
function onSignal(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) > 1) return;
  endAll();
  process.kill(process.pid, signal);
}
