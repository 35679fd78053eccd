/**
 * @file What this process holds now.
 */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { getHeapCodeStatistics } from "node:v8";
import { memory } from "../../src/torch/index.ts";

export interface Sample {
  readonly minutes: number;
  readonly rss: number;
  readonly heap: number;
  /** Of the heap: functions as V8 compiled them, as bytecode and better. */
  readonly code: number;
  /** The rest of the heap. */
  readonly data: number;
  readonly tensors: number;
  readonly files: number;
  readonly sockets: number;
  readonly children: number;
}

export const MEASURES = [
  ...["rss", "heap", "code", "data", "tensors", "files", "sockets", "children"],
] as const;

/** Garbage is collected first, where Node was started with --expose-gc. */
export function sampleNow(minutes: number): Sample {
  (globalThis as { gc?: () => void }).gc?.();
  const { rss, heapUsed } = process.memoryUsage();
  const statistics = getHeapCodeStatistics();
  const code = statistics.code_and_metadata_size + statistics.bytecode_and_metadata_size;
  const open = openFiles();
  return {
    minutes,
    rss: rss / 2 ** 20,
    heap: heapUsed / 2 ** 20,
    code: code / 2 ** 20,
    data: (heapUsed - code) / 2 ** 20,
    tensors: memory().tensors,
    files: open.filter((name) => !name.startsWith("socket:")).length,
    sockets: open.filter((name) => name.startsWith("socket:")).length,
    children: childProcesses(),
  };
}

function openFiles(): string[] {
  return readdirSync("/proc/self/fd").flatMap((name) => {
    try {
      return [readlinkSync(`/proc/self/fd/${name}`)];
    } catch {
      // The one by which the folder itself was read.
      return [];
    }
  });
}

/** Of all threads. Where the system does not tell: 0. */
function childProcesses(): number {
  return readdirSync("/proc/self/task").reduce((sum, task) => {
    try {
      const text = readFileSync(`/proc/self/task/${task}/children`, "utf8");
      return sum + text.split(" ").filter(Boolean).length;
    } catch {
      return sum;
    }
  }, 0);
}
