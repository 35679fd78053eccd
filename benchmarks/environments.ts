/**
 * @file How fast the worlds are, one core. Each world's file adds its cases to the list below; a case
 * gives figures with the bar that each must reach.
 */
import { alfworldCases } from "./environments/alfworld.ts";
import { smallWorldCases } from "./environments/small-worlds.ts";
import { webshopCases } from "./environments/webshop.ts";
import type { Benchmark } from "./main.ts";
import { table } from "./measure.ts";

/** One number, and what it must be at least or at most. */
export interface Figure {
  readonly value: number;
  readonly unit: string;
  readonly atLeast?: number;
  readonly atMost?: number;
}

export interface Case {
  readonly name: string;
  /** Figures by name; or a sentence that says why it cannot be measured here. */
  run(): Promise<Readonly<Record<string, Figure>> | string>;
}

const CASES: readonly Case[] = [...alfworldCases, ...smallWorldCases, ...webshopCases];

type Figures = Record<string, Readonly<Record<string, Figure>> | string>;

export const environments: Benchmark = {
  async run() {
    const figures: Figures = {};
    for (const { name, run } of CASES) {
      console.error(`${name} …`);
      figures[name] = await run();
    }
    return figures;
  },
  report(found) {
    const rows = Object.entries(found as Figures).flatMap(([name, figures]) =>
      typeof figures === "string"
        ? [[name, figures, "", "", ""]]
        : Object.entries(figures).map(([what, figure]) => [name, what, ...cells(figure)]),
    );
    return table([["world", "what", "figure", "bar", ""], ...rows]);
  },
};

function cells({ value, unit, atLeast, atMost }: Figure): string[] {
  const shown = (number: number): string =>
    number >= 1000
      ? Math.round(number).toLocaleString("en")
      : String(Number(number.toPrecision(3)));
  const bar =
    atLeast !== undefined
      ? `≥ ${shown(atLeast)}`
      : atMost !== undefined
        ? `≤ ${shown(atMost)}`
        : "";
  const missed = value < (atLeast ?? -Infinity) || value > (atMost ?? Infinity);
  return [`${shown(value)} ${unit}`, bar, missed ? "MISSED" : ""];
}

/** Bytes of JavaScript's heap that are in use, after collecting what is not. */
export async function heapBytes(): Promise<number> {
  const { setFlagsFromString } = await import("node:v8");
  const { runInNewContext } = await import("node:vm");
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
