/**
 * @file A device trains: a few iterations of PPO with critic and reference in a small maze, beside the same on the CPU,
 * and in the shorter floats that the device has.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { runOptions, type SmallRunChoices, smallRunConfig } from "../../config/index.ts";
import { initModelFolder, openSafetensors, presetConfig } from "../../models/index.ts";
import { readMetrics } from "../../monitoring/index.ts";
import type { Device } from "../../torch/index.ts";
import { autocast } from "../../torch/index.ts";
import { oneRank, runTraining } from "../../training/index.ts";
import { apart, type Measured, NotHere } from "./finding.ts";

const ITERATIONS = 2;

export interface SmallRun {
  readonly metrics: readonly Readonly<Record<string, number>>[];
  /** Of the actor, after the last iteration. */
  readonly weights: ReadonlyMap<string, Float64Array>;
  readonly seconds: number;
}

/** A model of some ten thousand parameters, made new. */
export function smallModel(folder: string): string {
  const model = join(folder, "model");
  const words = [
    "move up",
    "move down",
    "move left",
    "move right",
    "The goal is at position 8, 6.",
  ];
  initModelFolder(model, {
    config: { ...presetConfig("tiny", { family: "qwen3" }), initializerRange: 0.08 },
    texts: Array.from({ length: 20 }, () => words).flat(),
    vocabularySize: 300,
    seed: 1,
  });
  return model;
}

/** How a small run is computed, where not plainly. */
type How = Pick<SmallRunChoices, "autocast" | "offloaded">;

export async function smallRun(
  folder: string,
  name: string,
  model: string,
  device: Device,
  how: How = {},
): Promise<SmallRun> {
  const run = join(folder, name);
  rmSync(run, { recursive: true, force: true });
  const begun = performance.now();
  const config = smallRunConfig({ model, folder: run, device, iterations: ITERATIONS, ...how });
  const { options } = await runOptions(config);
  const result = await runTraining({ options, ranks: oneRank() });
  if (result.stopped || !result.model) throw new Error(result.stopped?.reason ?? "nothing trained");
  const seconds = (performance.now() - begun) / 1000;
  const weights = new Map<string, Float64Array>();
  const file = openSafetensors(join(result.model, "model.safetensors"));
  for (const tensor of file.tensors.keys()) {
    const loaded = file.load(tensor);
    weights.set(tensor, loaded.toNumbers());
    loaded.dispose();
  }
  file.close();
  const metrics = readMetrics(join(run, "metrics.jsonl")).map((line) => line.metrics);
  return { metrics, weights, seconds };
}

function compared(here: SmallRun, there: SmallRun, most: number): Measured[] {
  const weights = [...here.weights].map(([name, values]) =>
    apart(values, there.weights.get(name)!),
  );
  const of = (name: string) => [here, there].map(({ metrics }) => metrics.at(-1)![name]!);
  const norms = of("actor/grad_norm");
  return [
    { what: "weights", found: Math.max(...weights), most },
    {
      what: "norm of the last gradient",
      found: Math.abs(norms[0]! - norms[1]!) / Math.max(norms[0]!, 1e-9),
      most: most * 100,
    },
  ];
}

export function compareTraining(here: SmallRun, there: SmallRun): Measured[] {
  return compared(here, there, 1e-4);
}

/** In shorter floats: as near as they are to float32. With float16 the loss is scaled. */
export async function compareShort(
  folder: string,
  model: string,
  device: Device,
  dtype: "bfloat16" | "float16",
  here: SmallRun,
): Promise<Measured[]> {
  try {
    autocast({ dtype, device }, () => {});
  } catch (error) {
    throw new NotHere((error as Error).message);
  }
  const there = await smallRun(folder, dtype, model, device, { autocast: dtype });
  const skipped = there.metrics.reduce((sum, one) => sum + (one["actor/skipped_updates"] ?? 0), 0);
  return [
    ...compared(here, there, 0.02),
    { what: "updates that were skipped", found: skipped, most: dtype === "float16" ? 3 : 0 },
  ];
}

/** Sentence of what went between host and device in an iteration. */
export function copiesOf({ metrics }: SmallRun): string {
  const last = metrics.at(-1)!;
  if (last["perf/copies_to_device"] === undefined) return "none: tensors are on the CPU";
  const each = (direction: string) =>
    `${last[`perf/copies_to_${direction}`]} to the ${direction} ` +
    `(${last[`perf/megabytes_to_${direction}`]!.toFixed(2)} MB)`;
  return `${each("device")}, ${each("host")} in an iteration`;
}
