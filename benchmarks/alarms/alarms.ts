/**
 * @file `npm run bench -- alarms`: false and missed alarms, on healthy runs and on broken ones. Models and metrics are kept in
 * a folder, so that another look at the same runs takes a second.
 */
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ArgumentError } from "../arguments.ts";
import type { Benchmark } from "../main.ts";
import { table } from "../measure.ts";
import { type Judged, judged } from "./judge.ts";
import { recorded } from "./record.ts";
import { type BenchRun, brokenRuns, healthyRuns, type SeedSet } from "./runs.ts";

interface Figures {
  readonly seeds: SeedSet;
  readonly healthy: number;
  readonly withFalseAlarm: number;
  readonly broken: number;
  readonly missed: number;
  /** Bars: at most 1 false alarm on 30 healthy runs, none missed on 15 broken ones. */
  readonly runs: readonly Judged[];
}

const usage = [
  "  --folder FOLDER   where models and metrics are kept (default: a folder of the temporary one)",
  "  --seeds SET       report, or tune: the runs by which thresholds are set (default: report)",
  "  --only PART       only runs whose name contains it",
].join("\n");

export const alarms: Benchmark = {
  usage,
  async run(words): Promise<Figures> {
    const { folder, seeds, only } = optionsOf(words);
    const wanted = [...healthyRuns(seeds), ...brokenRuns(seeds)].filter(({ name }) =>
      name.includes(only),
    );
    const runs: Judged[] = [];
    for (const run of wanted) {
      console.error(`${run.name} …`);
      runs.push(judged(await recorded(folder, run as BenchRun)));
    }
    const healthy = runs.filter(({ kind }) => kind === "healthy");
    const broken = runs.filter(({ kind }) => kind === "broken");
    return {
      seeds,
      healthy: healthy.length,
      withFalseAlarm: healthy.filter((run) => run.alarms.length > 0).length,
      broken: broken.length,
      missed: broken.filter((run) => run.named === undefined).length,
      runs,
    };
  },
  report: (figures) => reportOf(figures as Figures),
};

function optionsOf(words: readonly string[]) {
  const found = new Map<string, string>();
  for (let i = 0; i < words.length; i += 2) {
    const [name, value] = [words[i]!, words[i + 1]];
    if (!["--folder", "--seeds", "--only"].includes(name) || value === undefined)
      throw new ArgumentError(`"${name}" is no option, or has no value.`);
    found.set(name, value);
  }
  const seeds = found.get("--seeds") ?? "report";
  if (seeds !== "tune" && seeds !== "report")
    throw new ArgumentError(`--seeds is "${seeds}", expected tune or report.`);
  return {
    folder: found.get("--folder") ?? join(tmpdir(), "openmanus-alarms"),
    seeds: seeds as SeedSet,
    only: found.get("--only") ?? "",
  };
}

function reportOf({ runs, healthy, withFalseAlarm, broken, missed, seeds }: Figures): string {
  const percent = (share: number) => `${(100 * share).toFixed(0)} %`;
  const said = (list: Judged["alarms"]) =>
    list.map(({ name, iteration }) => `${name} (${iteration})`).join(", ") || "none";
  const rows = runs.map((run) => [
    ...[run.kind, run.name, `${run.iterations}`],
    run.success.map(percent).join(" → "),
    run.kind === "healthy" ? said(run.alarms) : run.named ? said([run.named]) : "MISSED",
    run.kind === "healthy" ? "" : said(run.alarms.filter((one) => one !== run.named)),
  ]);
  const heading = ["kind", "run", "iterations", "success", "alarm (iteration)", "others"];
  return [
    table([heading, ...rows]),
    "",
    `seeds "${seeds}": ${withFalseAlarm} of ${healthy} healthy runs raised an alarm; ${missed} of ${broken} broken runs were missed`,
  ].join("\n");
}
