/**
 * @file A sign of life: as long as this process lives, a file of its is written to every few seconds. In a
 * thread of its own, because an update of a large model keeps the main thread busy for minutes.
 */
import { Worker } from "node:worker_threads";

export interface Heartbeat {
  stop(): void;
}

export interface Pulse {
  readonly file: string;
  /** The file itself: another may have its name by now. */
  readonly inode: number;
  readonly milliseconds: number;
}

/**
 * Plain JavaScript: the thread has no loader for TypeScript. It writes the file's first byte again, so that
 * the time of change is the file system's, which all machines that share it agree on, and not this machine's.
 * A disk that is away for a moment is no reason to stop: the next beat may reach it.
 */
const THREAD = `
const { fstatSync, openSync, writeSync } = require("node:fs");
const { file, inode, milliseconds } = require("node:worker_threads").workerData;
const descriptor = openSync(file, "r+");
if (fstatSync(descriptor).ino === inode)
  setInterval(() => {
    try {
      writeSync(descriptor, "{", 0);
    } catch {}
  }, milliseconds);
`;

export function startHeartbeat(pulse: Pulse): Heartbeat {
  const thread = new Worker(THREAD, { eval: true, workerData: pulse, execArgv: [], env: {} });
  // Without a heartbeat another machine may take the folder over too early; its holder notices that.
  thread.on("error", () => {});
  thread.unref();
  return { stop: () => void thread.terminate() };
}
