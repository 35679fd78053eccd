/**
 * @file Runs in processes of their own, and what they leave in their folders.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync, readFileSync, watch } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { readMetrics, withoutTimings } from "../../../src/monitoring/index.ts";
import { readTrajectories } from "../../../src/rollout/index.ts";

const RUN = fileURLToPath(new URL("./run.ts", import.meta.url));

export interface RunningProcess {
  readonly child: ChildProcess;
  /** Its output and errors so far. */
  readonly lines: string[];
  /** Resolves with the exit code; null when a signal ended it. */
  readonly ended: Promise<number | null>;
}

/** Starts a run with these settings; `onLine` hears each line of its output as it comes. */
export function startRun(
  settings: readonly string[],
  onLine: (line: string) => void = () => {},
): RunningProcess {
  return startScript(RUN, settings, onLine);
}

export function startScript(
  script: string,
  words: readonly string[],
  onLine: (line: string) => void = () => {},
  before: readonly string[] = [],
): RunningProcess {
  const [program, ...rest] = [...before, process.execPath, "--import", "tsx", script, ...words];
  const child = spawn(program!, rest, { stdio: ["ignore", "pipe", "pipe"] });
  const lines: string[] = [];
  for (const stream of [child.stdout!, child.stderr!])
    createInterface({ input: stream }).on("line", (line) => {
      lines.push(line);
      onLine(line);
    });
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  return { child, lines, ended };
}

/** When a run is killed: milliseconds after it said a line, or while it writes a checkpoint after that. */
export type Kill = number | "checkpoint";

/** Kills a run; its code is null, and `resumed` whether it had gone on from a checkpoint. */
export async function killedRun(
  settings: readonly string[],
  run: string,
  line: string,
  kill: Kill,
): Promise<{ code: number | null; resumed: boolean }> {
  let watcher: ReturnType<typeof watch> | undefined;
  const { child, ended, lines } = startRun(settings, (said) => {
    if (said !== line) return;
    if (kill !== "checkpoint") setTimeout(() => child.kill("SIGKILL"), kill);
    else
      watcher ??= watch(join(run, "checkpoints"), (_, name) => {
        if (name?.startsWith(".new-")) child.kill("SIGKILL");
      });
  });
  const code = await ended;
  watcher?.close();
  return { code, resumed: lines.some((said) => said.startsWith("going on after")) };
}

/** Everything in a run's folder that must be the same whenever the run is. */
export function resultsOf(run: string, step: number) {
  const checkpoint = join(run, "checkpoints", `step-${String(step).padStart(6, "0")}`);
  const weights = readdirSync(checkpoint, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".safetensors"))
    .sort()
    .map((name) => [name, readFileSync(join(checkpoint, name)).toString("base64")]);
  const state = JSON.parse(readFileSync(join(checkpoint, "state.json"), "utf8")) as object;
  const episodes = [...readTrajectories(join(run, "trajectories"))].map((trajectory) => ({
    ...trajectory,
    seconds: 0,
    turns: trajectory.turns.map((turn) => ({ ...turn, seconds: undefined })),
  }));
  return {
    weights: Object.fromEntries(weights) as Record<string, string>,
    state: { ...state, minutes: 0 },
    metrics: readMetrics(join(run, "metrics.jsonl")).map(({ step, metrics }) => ({
      step,
      metrics: withoutTimings(metrics),
    })),
    episodes,
  };
}
