/**
 * @file Measuring: side by side in one run, as ratios, because machines are noisy.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { returnFreedMemory } from "../src/torch/index.ts";

/** The median time of each body in seconds; the bodies take turns, so that noise hits all alike. */
export function sideBySide<Name extends string>(
  bodies: Record<Name, () => void>,
  rounds = 7,
): Record<Name, number> {
  const names = Object.keys(bodies) as Name[];
  for (const name of names) bodies[name]();
  const times = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<
    Name,
    number[]
  >;
  for (let round = 0; round < rounds; round++)
    for (const name of names) {
      const start = performance.now();
      bodies[name]();
      times[name].push((performance.now() - start) / 1000);
    }
  return Object.fromEntries(names.map((name) => [name, median(times[name])])) as Record<
    Name,
    number
  >;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)]!;
}

/** How much the process grew at its largest while the body ran, in bytes (Linux's own high mark). */
export function peakMemory(body: () => void): number {
  // Once before, so that what stays (thread stacks, caches) is not counted.
  body();
  returnFreedMemory();
  writeFileSync("/proc/self/clear_refs", "5");
  const before = statusBytes("VmRSS");
  body();
  return Math.max(0, statusBytes("VmHWM") - before);
}

/** A line of Linux's own count of a process's memory. Default: this one's. */
export function statusBytes(field: string, pid: number | "self" = "self"): number {
  const text = readFileSync(`/proc/${pid}/status`, "utf8");
  const [, kilobytes = "0"] = new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(text) ?? [];
  return Number(kilobytes) * 1024;
}

/** How long this thread has run. The clock's time where the system does not say. */
export function secondsOnCore(): number {
  try {
    return Number(readFileSync("/proc/self/schedstat", "utf8").split(" ")[0]) / 1e9;
  } catch {
    return performance.now() / 1000;
  }
}

export function megabytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MB`;
}

export function milliseconds(seconds: number): string {
  return `${(seconds * 1000).toFixed(1)} ms`;
}

/** Columns aligned by their widest entry. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
