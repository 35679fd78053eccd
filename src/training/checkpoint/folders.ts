/**
 * @file Where a run's checkpoints are, and of which iterations there are some.
 */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

export function checkpointFolder(run: string, step: number): string {
  return join(run, "checkpoints", `step-${String(step).padStart(6, "0")}`);
}

/** The iterations of which there are checkpoints, in order. */
export function checkpointSteps(run: string): number[] {
  const folder = join(run, "checkpoints");
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .flatMap((name) => /^step-(\d+)$/.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);
}
