/**
 * @file The report of a run, from what is in its folder.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  type ExampleEpisode,
  readMetrics,
  type StepMetrics,
  type SummaryRow,
  writeReport,
} from "../../monitoring/index.ts";
import { openTrajectoryStore, type Trajectory } from "../../rollout/index.ts";
import { readRunDescription } from "./folder.ts";

/** Writes report.html into the run's folder; returns its path. */
export async function writeRunReport(folder: string): Promise<string> {
  const text = readFileSync(join(folder, "config.yaml"), "utf8");
  const { title, subtitle } = readRunDescription(folder) ?? { title: folder, subtitle: "" };
  const metrics = readMetrics(join(folder, "metrics.jsonl"));
  const file = join(folder, "report.html");
  const versions = JSON.parse(readFileSync(join(folder, "versions.json"), "utf8")) as object;
  writeReport(file, {
    title,
    subtitle,
    metrics,
    summary: summaryOf(metrics),
    config: text,
    versions: Object.fromEntries(
      Object.entries(versions).map(([name, value]) => [
        name,
        typeof value === "string" ? value : JSON.stringify(value),
      ]),
    ),
    episodes: examplesOf(folder),
  });
  return file;
}

/** First and last values of what people look at first. */
function summaryOf(metrics: readonly StepMetrics[]): SummaryRow[] {
  const rows: [name: string, key: string, percent: boolean][] = [
    ["success on validation tasks", "val/success_rate", true],
    ["reward on validation tasks", "val/reward", false],
    ["valid actions", "val/valid_action_ratio", true],
    ["success in training", "episode/success_rate", true],
    ["turns per episode", "episode/length/mean", false],
  ];
  return rows.flatMap(([name, key, percent]) => {
    const values = metrics.flatMap(({ metrics: one }) => one[key] ?? []);
    const [before, after] = [values[0], values.at(-1)];
    if (before === undefined || after === undefined) return [];
    return [{ name, before, after, percent, moreIsBetter: key !== "episode/length/mean" }];
  });
}

/** A few of the last validation's episodes, solved and not. */
function examplesOf(folder: string): ExampleEpisode[] {
  // Of several ranks, rank 0's.
  const path = ["validation", "validation-0"]
    .map((name) => join(folder, name))
    .find((place) => existsSync(place));
  if (path === undefined) return [];
  const store = openTrajectoryStore(path);
  try {
    const all = store.episodes();
    const last = all.at(-1)?.step;
    const final = all.filter(({ step }) => step === last);
    const chosen = [
      ...final.filter(({ won }) => won).slice(0, 2),
      ...final.filter(({ won }) => !won).slice(0, 2),
    ];
    return chosen.map(({ id }) => exampleOf(store.read(id)));
  } finally {
    store.close();
  }
}

function exampleOf({ task, status, won, reward, turns }: Trajectory): ExampleEpisode {
  return {
    title: `${task.id}: ${status} after ${turns.length} turns`,
    success: won,
    reward,
    turns: turns.map((turn) => ({
      prompt: turn.observation,
      reply: turn.reply.text,
      reward: turn.reward,
    })),
  };
}
