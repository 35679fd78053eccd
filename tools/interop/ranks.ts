/**
 * @file What the checks of launchers share: a tiny run that any of them starts, its ranks as processes, and whether
 * what came of it is bitwise what comes of the same ranks undisturbed.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { readMetrics, withoutTimings } from "../../src/monitoring/index.ts";
import { tinySettings, warmTinyFolder } from "../../tests/training/support/runs.ts";

export const COMMAND = fileURLToPath(new URL("../../bin/openmanus-rl.mjs", import.meta.url));

/** A model that plays a little, in `folder`. */
export const tinyModel = (folder: string): Promise<string> => warmTinyFolder(folder);

/** The words of a run of so many iterations, behind `node`. */
export function trainWords(model: string, run: string, iterations: number): string[] {
  return [
    ...[COMMAND, "train", ...tinySettings(model, run), "algorithm.adv_estimator=grpo"],
    ...["actor_rollout_ref.actor.ppo_mini_batch_size=4", "trainer.save_freq=1"],
    ...[`trainer.total_epochs=${iterations}`],
  ];
}

export interface Launched {
  readonly child: ChildProcess;
  readonly output: () => string;
  readonly ended: Promise<number | null>;
}

export function launched(
  words: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): Launched {
  const child = spawn(words[0]!, words.slice(1), {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...variables },
  });
  const pieces: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (piece: Buffer) => pieces.push(piece));
  const ended = new Promise<number | null>((resolve) => {
    child.on("error", () => resolve(null));
    child.on("close", resolve);
  });
  return { child, output: () => Buffer.concat(pieces).toString("utf8"), ended };
}

/** The processes of a run's ranks, by rank. */
export function ranksOf(run: string): Map<number, number> {
  const found = new Map<number, number>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const words = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0");
      if (!words.includes(COMMAND) || !words.some((word) => word.endsWith(`=${run}`))) continue;
      if (!/node$/.test(words[0] ?? "")) continue;
      const rank = /(?:^|\0)(?:RANK|OMPI_COMM_WORLD_RANK)=(\d+)/.exec(
        readFileSync(`/proc/${name}/environ`, "utf8"),
      );
      const isDead = /^State:\s+Z/m.test(readFileSync(`/proc/${name}/status`, "utf8"));
      if (rank && !isDead) found.set(Number(rank[1]), Number(name));
    } catch {
      // It ended at this very moment.
    }
  }
  return found;
}

/** Iterations that a run has logged. */
export function logged(run: string): number {
  const file = join(run, "metrics.jsonl");
  if (!existsSync(file)) return 0;
  return readFileSync(file, "utf8").split("\n").length - 1;
}

/** Waits for something, or says what the launcher said. */
export async function until(
  isSo: () => boolean,
  what: string,
  seconds: number,
  { output, child }: Launched,
): Promise<void> {
  for (const end = Date.now() + seconds * 1000; !isSo(); await wait(20))
    if (Date.now() > end || child.exitCode !== null)
      throw new Error(`${what} did not happen within ${seconds} s:\n${output().slice(-3000)}`);
}

/** What differs between two runs that must be bitwise the same; undefined: nothing. */
export function runDifference(run: string, expected: string, iterations: number) {
  const of = (folder: string) =>
    readMetrics(join(folder, "metrics.jsonl")).map(({ step, metrics }) => ({
      step,
      metrics: withoutTimings(metrics),
    }));
  const [found, wanted] = [of(run), of(expected)];
  if (found.length !== iterations) return `${found.length} iterations, expected ${iterations}`;
  for (const [i, one] of found.entries())
    if (JSON.stringify(one) !== JSON.stringify(wanted[i]))
      return `iteration ${one.step}:\n${JSON.stringify(one)}\n${JSON.stringify(wanted[i])}`;
  const weights = (folder: string) =>
    readFileSync(
      join(
        folder,
        `checkpoints/step-${String(iterations).padStart(6, "0")}/actor/model.safetensors`,
      ),
    );
  return weights(run).equals(weights(expected)) ? undefined : "the weights differ";
}

/** The same ranks, undisturbed, by our own launcher. */
export async function undisturbed(
  model: string,
  run: string,
  iterations: number,
  ranks: number,
): Promise<void> {
  const words = [process.execPath, ...trainWords(model, run, iterations)];
  const { ended, output } = launched([...words, `trainer.n_gpus_per_node=${ranks}`]);
  if ((await ended) !== 0) throw new Error(`the undisturbed run failed:\n${output().slice(-3000)}`);
}
