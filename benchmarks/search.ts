/**
 * @file What search finds for its tokens: one policy, the same tasks, every strategy over the same budgets. Repeated
 * episodes (best_of_n) are what the others have to beat.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { wilson } from "../src/evaluation/index.ts";
import { evaluate } from "../src/library/index.ts";
import { curveSvg } from "../src/monitoring/index.ts";
import { sampledTokens, strategyNames } from "../src/rollout/index.ts";
import { ArgumentError } from "./arguments.ts";
import type { Benchmark } from "./main.ts";
import { table } from "./measure.ts";

interface Row {
  readonly strategy: string;
  /** Tokens of a search at most; 0: one episode, whatever it costs. */
  readonly budget: number;
  readonly won: number;
  readonly episodes: number;
  /** Drawn per task, on average. */
  readonly tokens: number;
  readonly states: number;
  readonly seconds: number;
}

interface Figures {
  readonly model: string;
  readonly split: string;
  readonly rows: readonly Row[];
}

export const search: Benchmark = {
  usage:
    "--model FOLDER [--split held_out] [--tasks 100] [--turns N] [--temperature 0.7] [--budgets 300,600,1200] [--strategies a,b] [--picture FILE.svg]",
  async run(words): Promise<Figures> {
    const options = optionsOf(words);
    const rows: Row[] = [];
    for (const strategy of options.strategies.split(","))
      for (const budget of strategy === "sample" ? [0] : options.budgets.split(",").map(Number)) {
        const row = await measured(options, strategy, budget);
        console.error(`${strategy} ${budget}: ${row.won} of ${row.episodes}`);
        rows.push(row);
      }
    if (options.picture !== "") writeFileSync(options.picture, picture(rows));
    return { model: options.model, split: options.split, rows };
  },
  report(figures) {
    const { rows, split, model } = figures as Figures;
    const percent = (value: number) => `${(100 * value).toFixed(1)} %`;
    return [
      `${model}, ${rows[0]!.episodes} tasks of ${split}`,
      table([
        ["strategy", "budget", "success", "95 %", "tokens", "turns", "seconds"],
        ...rows.map(({ strategy, budget, won, episodes, tokens, states, seconds }) => {
          const { low, high } = wilson(won, episodes);
          return [
            ...[strategy, budget === 0 ? "–" : String(budget), percent(won / episodes)],
            ...[`${percent(low)} – ${percent(high)}`, tokens.toFixed(0), states.toFixed(0)],
            seconds.toFixed(0),
          ];
        }),
      ]),
    ].join("\n\n");
  },
};

function optionsOf(words: readonly string[]) {
  const text = (usual: string) => ({ type: "string", default: usual }) as const;
  try {
    const { values } = parseArgs({
      args: [...words],
      options: {
        ...{ model: text(""), split: text("held_out"), tasks: text("100"), turns: text("") },
        ...{ temperature: text("0.7"), budgets: text("300,600,1200"), picture: text("") },
        strategies: text(strategyNames.join(",")),
      },
    });
    if (values.model === "") throw new ArgumentError("Which model plays? --model FOLDER");
    return values;
  } catch (error) {
    throw new ArgumentError((error as Error).message);
  }
}

type Options = ReturnType<typeof optionsOf>;

async function measured(options: Options, strategy: string, budget: number): Promise<Row> {
  const { model, split, tasks, turns, temperature } = options;
  const begun = performance.now();
  const { trajectories } = await evaluate({
    ...{ model, split, tasks: Number(tasks), temperature: Number(temperature), progress: false },
    ...(turns !== "" && { turns: Number(turns) }),
    ...(strategy !== "sample" && {
      // As many episodes as the budget lets begin.
      search: { strategy, budget: { tokens: budget }, ...(strategy === "best_of_n" && MANY) },
    }),
  });
  const mean = (of: (one: (typeof trajectories)[number]) => number) =>
    trajectories.reduce((sum, one) => sum + of(one), 0) / trajectories.length;
  return {
    ...{ strategy, budget, episodes: trajectories.length },
    won: trajectories.filter(({ won }) => won).length,
    tokens: mean((one) => one.search?.tokens ?? sampledTokens(one)),
    states: mean((one) => one.search?.states ?? one.turns.length),
    seconds: (performance.now() - begun) / 1000,
  };
}

/** One after the other, so that the first win ends it. */
const MANY = { width: 10_000, branches: 1 };

function picture(rows: readonly Row[]): string {
  const names = [...new Set(rows.map(({ strategy }) => strategy))];
  return curveSvg({
    title: "Success over what a search drew",
    x: "tokens per task",
    y: { label: "success", percent: true, from: 0 },
    series: names.map((name) => ({
      name,
      runs: [
        rows
          .filter(({ strategy }) => strategy === name)
          .map(({ tokens, won, episodes }) => ({ x: tokens, y: won / episodes })),
      ],
    })),
  });
}
