/**
 * @file When a process started. Its number alone does not name it: numbers are used again, and in a
 * container that starts anew the same ones come again.
 */
import { readFileSync } from "node:fs";

/** In the kernel's ticks; undefined where there is no such process, or no /proc. */
export function processStart(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name, in brackets, may hold anything: what follows is counted behind it.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  } catch {
    return undefined;
  }
}
