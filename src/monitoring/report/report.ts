/**
 * @file A run's report: one HTML file with everything in it, to open without a network and to hand on.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { StepMetrics } from "../metrics.ts";
import type { ChartGroup } from "./charts.ts";
import { reportPage } from "./page.ts";

/** A number with the interval it is known to. */
export interface Estimate {
  readonly value: number;
  readonly low?: number;
  readonly high?: number;
}

/** A row of the summary. */
export interface SummaryRow {
  readonly name: string;
  readonly before?: Estimate | number;
  readonly after?: Estimate | number;
  /** Shares from 0 to 1 as percent. Default false. */
  readonly percent?: boolean;
  /** Whether more is better, for the colour of the change. Default true. */
  readonly moreIsBetter?: boolean;
}

export interface ExampleTurn {
  /** What the agent was told: the task, an observation. */
  readonly prompt: string;
  readonly reply: string;
  readonly reward?: number;
}

export interface ExampleEpisode {
  readonly title: string;
  readonly turns: readonly ExampleTurn[];
  readonly reward?: number;
  readonly success?: boolean;
}

export interface Report {
  readonly title: string;
  /** Below the title: the world, the algorithm, when. */
  readonly subtitle?: string;
  /** As `readMetrics` gives them. */
  readonly metrics: readonly StepMetrics[];
  readonly summary?: readonly SummaryRow[];
  /** The resolved configuration: its own text (YAML), or anything that JSON can hold. */
  readonly config?: unknown;
  /** Of this program, libtorch, Node, the machine. */
  readonly versions?: Readonly<Record<string, string>>;
  readonly episodes?: readonly ExampleEpisode[];
  /** Default: success, rewards and losses first, then every other metric. */
  readonly groups?: readonly ChartGroup[];
}

/** The file is replaced as a whole, or not at all. */
export function writeReport(file: string, report: Report): void {
  const begun = `${file}.new`;
  try {
    writeFileSync(begun, reportPage(report, readPlotter()));
    renameSync(begun, file);
  } catch (error) {
    rmSync(begun, { force: true });
    throw new Error(`the report ${file} could not be written: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** uPlot's own files, from where it is installed; its licence wants to go on with it. */
function readPlotter(): { script: string; style: string } {
  const folder = dirname(createRequire(import.meta.url).resolve("uplot"));
  const read = (name: string) => readFileSync(join(folder, name), "utf8");
  const licence = read("../LICENSE").replaceAll("*/", "");
  return {
    script: `/*\n${licence}*/\n${read("uPlot.iife.min.js")}`,
    style: read("uPlot.min.css"),
  };
}
