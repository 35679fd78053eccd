/**
 * @file Runs of several ranks through the training entry, and what two of them differ by.
 */
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { openSafetensors } from "../../../src/models/index.ts";
import { readMetrics, withoutTimings } from "../../../src/monitoring/index.ts";
import { launch, tidy } from "../../../src/torch/index.ts";
import { largestDifference, tinySettings } from "./runs.ts";

const SCRIPT = new URL("./run.ts", import.meta.url);

export interface Finished {
  readonly folder: string;
  readonly lines: readonly string[];
  readonly largestGradient: number;
}

/** Trains with so many ranks; the folder may have checkpoints to go on from. */
export async function trainedBy(
  folder: string,
  model: string,
  processes: number,
  own: readonly string[],
): Promise<Finished> {
  mkdirSync(folder, { recursive: true });
  const lines: string[] = [];
  await launch(SCRIPT, {
    processes,
    arguments: [...tinySettings(model, folder), ...own],
    onLine: ({ text }) => lines.push(text),
  }).catch((error: unknown) => {
    throw new Error(`${(error as Error).message}\n${lines.join("\n")}`);
  });
  const first = existsSync(optimizerOf(folder, 1)) ? gradientsOf(folder) : new Map();
  return {
    folder,
    lines,
    largestGradient: Math.max(0, ...[...first.values()].flat().map(Math.abs)),
  };
}

export function checkpointOf(folder: string, step: number): string {
  return join(folder, "checkpoints", `step-${String(step).padStart(6, "0")}`);
}

function optimizerOf(folder: string, step: number): string {
  return join(checkpointOf(folder, step), "actor-optimizer.safetensors");
}

/** Every tensor of a file, as numbers. */
export function tensorsIn(file: string): Map<string, number[]> {
  const opened = openSafetensors(file);
  try {
    return new Map(
      [...opened.tensors.keys()].map((name) => [
        name,
        tidy(() => [...opened.load(name).toNumbers()]),
      ]),
    );
  } finally {
    opened.close();
  }
}

/** The gradients of a first step are AdamW's first moment, over 1 − β₁. */
function gradientsOf(folder: string): Map<string, number[]> {
  const found = new Map<string, number[]>();
  for (const [name, values] of tensorsIn(optimizerOf(folder, 1)))
    if (name.startsWith("first_moment."))
      found.set(
        name,
        values.map((value) => value / 0.1),
      );
  return found;
}

export function largestOf(a: Map<string, number[]>, b: Map<string, number[]>): number {
  if ([...a.keys()].sort().join() !== [...b.keys()].sort().join())
    throw new Error(`other tensors: ${[...a.keys()]} against ${[...b.keys()]}`);
  return Math.max(...[...a].map(([name, values]) => largestDifference(values, b.get(name)!)));
}

/** `metrics`: those of one that differ by more than 1e-5, in words; above 1, of their size. */
export function differences(one: Finished, other: Finished, step: number) {
  const weights = readdirSync(checkpointOf(one.folder, step), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith("model.safetensors"))
    .map((name) =>
      largestOf(
        tensorsIn(join(checkpointOf(one.folder, step), name)),
        tensorsIn(join(checkpointOf(other.folder, step), name)),
      ),
    );
  const [a, b] = [one, other].map(({ folder }) => readMetrics(join(folder, "metrics.jsonl")));
  const metrics = a!.flatMap((line, i) => {
    const [mine, theirs] = [line, b![i]!].map(({ metrics }) => withoutTimings(metrics));
    return Object.entries(mine!).flatMap(([name, value]) =>
      Math.abs(value - (theirs![name] ?? Number.NaN)) <= 1e-5 * Math.max(1, Math.abs(value))
        ? []
        : [`${line.step} ${name}: ${value} against ${theirs![name]}`],
    );
  });
  return {
    gradients: largestOf(gradientsOf(one.folder), gradientsOf(other.folder)),
    weights: Math.max(...weights),
    metrics,
  };
}
