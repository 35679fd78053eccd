/**
 * @file `openmanus-rl eval`: how good is a model, and is it better than another?
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { OptionError } from "../../assembly/index.ts";
import { readSettings } from "../../config/index.ts";
import { convergence, phaseTimes, successReport } from "../../evaluation/index.ts";
import { type Evaluation, evaluate, isFirstRank } from "../../library/index.ts";
import { readMetrics } from "../../monitoring/index.ts";
import type { Trajectory, TrajectoryStore } from "../../rollout/index.ts";
import { settingsAndOptions } from "../arguments/settings.ts";
import { numberFrom, UsageError, wholeNumber } from "../arguments/usage.ts";
import type { Command } from "../main.ts";
import { interruptible } from "../support/interrupt.ts";
import { asRanks } from "../support/local-ranks.ts";
import { print } from "../support/print.ts";
import { emptyStore } from "../support/stores.ts";

export const evalCommand: Command = {
  help: [
    "Usage: openmanus-rl eval MODEL|RUN [--against MODEL|RUN] [key=value …] [options]",
    "       openmanus-rl eval --run FOLDER [--json]",
    "",
    "Plays tasks that training never sees, and shows the success rate with its 95 % interval, by kind of",
    "task, rewards, turns and valid actions. Of a run's folder, its best policy plays. World and format are",
    "what the model folder says (openmanus-rl.json), or key=value as for train. --run shows how fast a run",
    "learned, and where its time went.",
    "",
    "  --against MODEL   the same tasks with another model, and a paired test of the difference",
    "  --split S         the tasks' split (by default the validation split)",
    "  --tasks N         so many tasks, always the same choice (all of the split)",
    "  --episodes N      episodes per task (1)",
    "  --temperature X   of sampling (0.4); --greedy takes the most likely token",
    "  --out FOLDER      stores the episodes",
    "  --json            one JSON object on standard output",
    "",
    "Example: openmanus-rl eval runs/a --against models/warm --tasks 100 env.env_name=household",
  ].join("\n"),
  async run(given) {
    const { settings, values, words } = settingsAndOptions(given, {
      against: { type: "string" },
      config: { type: "string", multiple: true, default: [] },
      run: { type: "string" },
      split: { type: "string" },
      tasks: { type: "string" },
      episodes: { type: "string", default: "1" },
      temperature: { type: "string" },
      greedy: { type: "boolean", default: false },
      out: { type: "string" },
      json: { type: "boolean", default: false },
    });
    if (values.run !== undefined) return showConvergence(values.run, values.json);
    const [model, ...more] = words;
    if (model === undefined || more.length > 0)
      throw new UsageError("eval takes the folder of one model, or of one run.");
    const temperature = temperatureOf(values);
    const code = await asRanks(["eval", ...given], readSettings(values.config, settings));
    if (code !== undefined) return code;
    // Before anything is played: a folder that cannot be written to is known now.
    const store =
      values.out === undefined || !isFirstRank() ? undefined : emptyStore(values.out, values.out);
    const found = await interruptible((signal) =>
      evaluate({
        ...{ model, against: values.against, split: values.split, signal },
        tasks: values.tasks === undefined ? null : wholeNumber("tasks", values.tasks, 1),
        episodes: wholeNumber("episodes", values.episodes, 1),
        ...(temperature !== undefined && { temperature }),
        settings: readSettings(values.config, settings),
        progress: process.stderr,
      }),
    );
    if (store) keep(store, found.trajectories);
    if (!isFirstRank()) return 0;
    print(values.json ? JSON.stringify(facts(found), null, 2) : report(found));
    return 0;
  },
};

/** All of them or none: the same command must not find a part of what it is about to write. */
function keep(store: TrajectoryStore, trajectories: readonly Trajectory[]): void {
  try {
    for (const trajectory of trajectories) store.append(trajectory);
    store.close();
  } catch (error) {
    store.truncate(0);
    throw error;
  }
}

function temperatureOf(values: { greedy: boolean; temperature?: string }): number | undefined {
  if (values.greedy) return 0;
  return values.temperature === undefined
    ? undefined
    : numberFrom("temperature", values.temperature);
}

function facts({ model, split, constrained, table, against, comparison }: Evaluation) {
  return {
    ...{ model, split, ...(constrained && { constrained }), ...table },
    ...(against && { against: { model: against.model, ...against.table } }),
    ...(comparison && { comparison }),
  };
}

function report(found: Evaluation): string {
  const { model, world, split, tasks, against, comparison } = found;
  const source = found.source === undefined ? "" : ` (${found.source})`;
  // Never to be mistaken for free generation.
  const how = found.constrained ? ", only admissible actions can be drawn" : "";
  const lines = [
    `${model}, ${world} ${split}, ${tasks} tasks${source}${how}\n`,
    successReport(found.table),
  ];
  if (against && comparison) {
    const { difference, better, worse, pValue } = comparison;
    lines.push(
      `\n${against.model}\n`,
      successReport(against.table),
      `\n${(100 * difference).toFixed(1)} points against ${against.model}: better on ${better} tasks, ` +
        `worse on ${worse}, p = ${pValue.toPrecision(2)} (exact paired test)`,
    );
  }
  return lines.join("\n");
}

const RATES = [0.25, 0.5, 0.6, 0.7, 0.8, 0.867, 0.9, 0.95];

function showConvergence(folder: string, json: boolean): number {
  const file = join(folder, "metrics.jsonl");
  if (!existsSync(file))
    throw new OptionError(`there is no run in "${folder}" (no metrics.jsonl); give a run's folder`);
  const metrics = readMetrics(file);
  const found = convergence(metrics, RATES);
  if (json) {
    print(JSON.stringify(found, null, 2));
    return 0;
  }
  print("success   iteration  episodes  minutes");
  for (const { successRate, step, episodes, minutes } of found)
    print(
      `${`${(100 * successRate).toFixed(1)} %`.padEnd(9)} ` +
        (step === undefined
          ? "not reached"
          : `${String(step).padStart(9)}  ${String(episodes).padStart(8)}  ${minutes!.toFixed(1).padStart(7)}`),
    );
  const phases = phaseTimes(metrics);
  if (phases.length > 0) {
    const whole = phases.reduce((sum, { seconds }) => sum + seconds, 0);
    const parts = phases.filter(({ share }) => share >= 0.005);
    const named = parts.map(({ name, share }) => `${name} ${(100 * share).toFixed(0)} %`);
    print(`\nan iteration takes ${whole.toFixed(2)} s: ${named.join(", ")}`);
  }
  return 0;
}
