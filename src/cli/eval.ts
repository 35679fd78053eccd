/**
 * @file `openmanus-rl eval`: how good is a model, and is it better than another?
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Config, ConfigError } from "../config/index.ts";
import {
  chosenTasks,
  comparePaired,
  configForModel,
  convergence,
  evaluateModel,
  openConfiguredWorld,
  phaseTimes,
  requireModelFolder,
  successReport,
  successTable,
} from "../evaluation/index.ts";
import { readMetrics } from "../monitoring/index.ts";
import { openTrajectoryStore, type Trajectory } from "../rollout/index.ts";
import type { Command } from "./main.ts";
import { settingsAndOptions } from "./settings.ts";
import { UsageError, wholeNumber } from "./usage.ts";
import { progressLine } from "./world.ts";

export const evalCommand: Command = {
  help: [
    "Usage: openmanus-rl eval MODEL [--against MODEL] [key=value …] [options]",
    "       openmanus-rl eval --run FOLDER [--json]",
    "",
    "Plays tasks that training never sees, and shows the success rate with its 95 % interval, by kind of",
    "task, rewards, turns and valid actions. World and format are what the model folder says",
    "(openmanus-rl.json), or key=value as for train. --run shows how fast a run learned, and where its time went.",
    "",
    "  --against MODEL   the same tasks with another model, and a paired test of the difference",
    "  --split S         the tasks' split (the validation split unless said)",
    "  --tasks N         so many tasks, always the same choice (all of the split)",
    "  --episodes N      episodes per task (1)",
    "  --temperature X   of sampling (0.4); --greedy takes the most likely token",
    "  --out FOLDER      stores the episodes",
    "  --json            one JSON object on standard output",
    "",
    "Example: openmanus-rl eval runs/a/best --against models/warm --tasks 100 env.env_name=household",
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
      throw new UsageError("eval takes the folder of one model.");
    const drawing = "actor_rollout_ref.rollout.val_kwargs";
    const overrides = [
      ...(values.temperature === undefined ? [] : [`${drawing}.temperature=${values.temperature}`]),
      ...(values.greedy ? [`${drawing}.do_sample=False`] : []),
      ...settings,
    ];
    return await run(model, {
      config: configForModel(requireModelFolder(model), overrides, values.config),
      against: values.against,
      split: values.split,
      tasks: values.tasks === undefined ? null : wholeNumber("tasks", values.tasks, 1),
      episodes: wholeNumber("episodes", values.episodes, 1),
      out: values.out,
      json: values.json,
    });
  },
};

interface Wishes {
  config: Config;
  against: string | undefined;
  split: string | undefined;
  tasks: number | null;
  episodes: number;
  out: string | undefined;
  json: boolean;
}

async function run(model: string, wishes: Wishes): Promise<number> {
  const { config } = wishes;
  const world = await openConfiguredWorld(config);
  try {
    const set = await world.world.tasks(wishes.split ?? world.valSplit);
    const tasks = chosenTasks(set, wishes.tasks);
    const line = progressLine();
    const played = async (folder: string): Promise<readonly Trajectory[]> => {
      let done = 0;
      try {
        const { all } = await evaluateModel(folder, {
          config,
          world,
          tasks,
          members: wishes.episodes,
          onEpisode: () => line.show(`${folder}: ${++done} of ${tasks.length * wishes.episodes}`),
        });
        return all;
      } finally {
        line.clear();
      }
    };
    const own = await played(model);
    const other = wishes.against === undefined ? undefined : await played(wishes.against);
    if (wishes.out !== undefined) {
      const store = openTrajectoryStore(wishes.out);
      for (const trajectory of own) store.append(trajectory);
      store.close();
    }
    const comparison = other && comparePaired(other, own);
    if (wishes.json) {
      const result = {
        model,
        split: set.split,
        ...(config.actor_rollout_ref.rollout.constrain && { constrained: true }),
        ...successTable(own, config.env.validity),
        ...(other && {
          against: { model: wishes.against, ...successTable(other, config.env.validity) },
        }),
        ...(comparison && { comparison }),
      };
      console.log(JSON.stringify(result, null, 2));
      return 0;
    }
    const source = world.world.source === undefined ? "" : ` (${world.world.source})`;
    // Never to be mistaken for free generation.
    const { constrain } = config.actor_rollout_ref.rollout;
    const how = constrain ? ", only admissible actions can be drawn" : "";
    console.log(
      `${model}, ${world.about.name} ${set.split}, ${tasks.length} tasks${source}${how}\n`,
    );
    console.log(successReport(successTable(own, config.env.validity)));
    if (other && comparison) {
      console.log(`\n${wishes.against}\n`);
      console.log(successReport(successTable(other, config.env.validity)));
      const { difference, better, worse, pValue } = comparison;
      console.log(
        `\n${(100 * difference).toFixed(1)} points against ${wishes.against}: better on ${better} tasks, ` +
          `worse on ${worse}, p = ${pValue.toPrecision(2)} (exact paired test)`,
      );
    }
    return 0;
  } finally {
    await world.world.close?.();
  }
}

const RATES = [0.25, 0.5, 0.6, 0.7, 0.8, 0.867, 0.9, 0.95];

function showConvergence(folder: string, json: boolean): number {
  const file = join(folder, "metrics.jsonl");
  if (!existsSync(file))
    throw new ConfigError(`there is no run in "${folder}" (no metrics.jsonl); give a run's folder`);
  const metrics = readMetrics(file);
  const found = convergence(metrics, RATES);
  if (json) {
    console.log(JSON.stringify(found, null, 2));
    return 0;
  }
  console.log("success   iteration  episodes  minutes");
  for (const { successRate, step, episodes, minutes } of found)
    console.log(
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
    console.log(`\nan iteration takes ${whole.toFixed(2)} s: ${named.join(", ")}`);
  }
  return 0;
}
