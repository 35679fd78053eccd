/**
 * @file What a soak found: the table of its measures, and their curves.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { curveSvg } from "../../src/monitoring/index.ts";
import { MEASURES, type Sample } from "./sample.ts";
import { trendOf } from "./trend.ts";

/** Of what a soak left in its folder (samples.json). */
export interface Found {
  readonly samples: readonly Sample[];
  /** How often each fault was injected. */
  readonly injected: Readonly<Record<string, number>>;
  readonly iterations: number;
  /** Of a run, until it is removed and another begins. */
  readonly roundsOfRun: number;
}

/** With fewer there is no interval. */
const LEAST_LIVES = 5;

export const foundFile = (folder: string): string => join(folder, "samples.json");

/** Prints the table and writes the curves; whether everything is flat. */
export function summary(folder: string): boolean {
  const { samples, injected, iterations, roundsOfRun } = JSON.parse(
    readFileSync(foundFile(folder), "utf8"),
  ) as Found;
  const faults = Object.values(injected).reduce((sum, times) => sum + times, 0);
  console.log(`\n${samples.length} rounds, ${iterations} iterations, ${faults} faults:`);
  for (const [name, times] of Object.entries(injected).sort()) console.log(`  ${name}: ${times}`);
  const hours = samples.map((sample) => sample.minutes / 60);
  let isFlat = true;
  console.log("\nmeasure       level   per hour (95 %)        a life of runs, on average");
  for (const name of MEASURES) {
    const measured = samples.map((sample) => sample[name]);
    const trend = trendOf(hours, measured, roundsOfRun);
    isFlat &&= trend.isFlat;
    const rate = `${trend.slope.toFixed(2)} ± ${trend.margin.toFixed(2)}`;
    console.log(
      `${name.padEnd(9)} ${trend.level.toFixed(2).padStart(9)}   ${rate.padEnd(14)} ` +
        `${trend.isFlat ? "flat    " : "NOT FLAT"} ${trend.lives.map((mean) => mean.toFixed(2)).join(" ")}`,
    );
    const points = samples.map((sample) => ({ x: sample.minutes, y: sample[name] }));
    writeFileSync(
      join(folder, `${name}.svg`),
      curveSvg({
        title: `${name} over a soak`,
        ...{ x: "minutes", y: name, series: [{ name, runs: [points] }] },
      }),
    );
  }
  const isShort = samples.length < LEAST_LIVES * roundsOfRun;
  const verdict = isShort ? "too short to tell" : "something grows";
  console.log(isFlat ? "everything is flat" : verdict);
  return isFlat;
}
