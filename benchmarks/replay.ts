/**
 * @file `npm run bench -- replay`: what learning again from stored successes does in a world where most groups fail. The same
 * policy, the same tasks, the same number of episodes, with and without it.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type TrainOptions, train, warmStart } from "../src/library/index.ts";
import { ArgumentError } from "./arguments.ts";
import type { Benchmark } from "./main.ts";
import { table } from "./measure.ts";

/** Sixteen small mazes, few turns, and a policy that can walk and little more. */
const MAZES: Pick<TrainOptions, "world" | "worldOptions" | "turns"> = {
  world: "maze",
  worldOptions: {
    ...{ maze: "generated", width: 7, height: 7, loops: 0.1, games: 16, winReward: 10 },
  },
  turns: 16,
};
const WARM_START = { episodes: 200, epochs: 2, mistakes: 0.6 };
const [TASKS, MEMBERS] = [8, 4];

/** Success is that of so many episodes before. */
const WINDOW = 320;

const WAYS: Readonly<Record<string, object>> = {
  "without replay": {},
  rescue: { enable: true },
  "rescue and share 0.2": { enable: true, share: 0.2 },
};

interface Row {
  readonly way: string;
  readonly seed: number;
  /** Of the first and of the last episodes. */
  readonly first: number;
  readonly last: number;
  /** Until the success rate was reached; undefined: never. */
  readonly episodes: number | undefined;
  /** Groups of the run in which nobody won, and those that got a stored success. */
  readonly failedGroups: number;
  readonly rescuedGroups: number;
  readonly seconds: number;
}

interface Figures {
  readonly target: number;
  readonly learningRate: number;
  readonly allEpisodes: number;
  readonly rows: readonly Row[];
}

export const replay: Benchmark = {
  usage: "[--seeds 1,2,3] [--iterations 40] [--rate 5e-4] [--target 0.15] [--only PART]",
  async run(words): Promise<Figures> {
    const { seeds, iterations, rate, target, ways } = optionsOf(words);
    const folder = mkdtempSync(join(tmpdir(), "openmanus-replay-"));
    try {
      const model = await warmStart({
        ...{ ...MAZES, progress: false, folder: join(folder, "model"), warmStart: WARM_START },
        model: { preset: "tiny", tasks: 100, vocabulary: 500 },
        settings: { trainer: { threads: 1 } },
      });
      const rows: Row[] = [];
      for (const [way, how] of ways)
        for (const seed of seeds) {
          const place = join(folder, `${rows.length}`);
          const row = await measured({ model, folder: place, iterations, rate, target, seed }, how);
          console.error(`${way}, seed ${seed}: ${row.first.toFixed(2)} → ${row.last.toFixed(2)}`);
          rows.push({ way, seed, ...row });
          rmSync(place, { recursive: true, force: true });
        }
      const allEpisodes = iterations * TASKS * MEMBERS;
      return { target, learningRate: rate, allEpisodes, rows };
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
  report: (figures) => reportOf(figures as Figures),
};

function optionsOf(words: readonly string[]) {
  const text = (usual: string) => ({ type: "string", default: usual }) as const;
  try {
    const { values } = parseArgs({
      args: [...words],
      options: {
        ...{ seeds: text("1,2,3"), iterations: text("40"), rate: text("5e-4") },
        target: text("0.15"),
        only: text(""),
      },
    });
    return {
      seeds: values.seeds.split(",").map(Number),
      iterations: Number(values.iterations),
      rate: Number(values.rate),
      target: Number(values.target),
      ways: Object.entries(WAYS).filter(([name]) => name.includes(values.only)),
    };
  } catch (error) {
    throw new ArgumentError((error as Error).message);
  }
}

async function measured(
  run: { model: string; folder: string; rate: number; target: number } & Pick<
    Required<TrainOptions>,
    "iterations" | "seed"
  >,
  how: object,
): Promise<Omit<Row, "way" | "seed">> {
  const { model, folder, iterations, seed } = run;
  const begun = performance.now();
  const rates: number[] = [];
  let [failed, rescued] = [0, 0];
  const wins = new Map<string, boolean>();
  await train({
    ...{ ...MAZES, model, folder, iterations, seed, learningRate: run.rate },
    ...{ algorithm: "grpo", tasks: TASKS, groupSize: MEMBERS, progress: false },
    validation: { every: 0 },
    settings: {
      trainer: { threads: 1, keep_trajectories: false, save_freq: -1, ignore_alarms: ["all"] },
      algorithm: { replay: how },
    },
    onEpisode: ({ group, won }) => wins.set(group, won || wins.get(group) === true),
    onIteration(_, metrics) {
      rates.push(metrics["episode/success_rate"]!);
      failed += [...wins.values()].filter((won) => !won).length;
      wins.clear();
      rescued += metrics["replay/rescued_groups"] ?? 0;
    },
  });
  const window = WINDOW / (TASKS * MEMBERS);
  const moving = rates.map((_, i) => mean(rates.slice(Math.max(0, i + 1 - window), i + 1)));
  const reached = moving.findIndex((rate, i) => i + 1 >= window && rate >= run.target);
  return {
    first: mean(rates.slice(0, 3)),
    last: moving.at(-1)!,
    episodes: reached < 0 ? undefined : (reached + 1) * TASKS * MEMBERS,
    failedGroups: failed,
    rescuedGroups: rescued,
    seconds: (performance.now() - begun) / 1000,
  };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function reportOf({ rows, target, allEpisodes, learningRate }: Figures): string {
  const percent = (value: number) => `${(100 * value).toFixed(0)} %`;
  const ways = [...new Set(rows.map(({ way }) => way))];
  const groups = allEpisodes / MEMBERS;
  return [
    `16 mazes of 7 × 7, ${MAZES.turns} turns, GRPO, learning rate ${learningRate}, ${allEpisodes} episodes in groups of ` +
      `${MEMBERS}; success over the last ${WINDOW} episodes`,
    table([
      [
        "",
        "seed",
        "first",
        "last",
        `episodes to ${percent(target)}`,
        "failed",
        "rescued",
        "seconds",
      ],
      ...rows.map((row) => [
        ...[row.way, `${row.seed}`, percent(row.first), percent(row.last)],
        ...[row.episodes === undefined ? "never" : `${row.episodes}`],
        ...[`${row.failedGroups} of ${groups}`, `${row.rescuedGroups}`, row.seconds.toFixed(0)],
      ]),
    ]),
    ...ways.map((way) => {
      const own = rows.filter((row) => row.way === way);
      const reached = own.flatMap(({ episodes }) => episodes ?? []);
      return (
        `${way}: ${percent(mean(own.map(({ last }) => last)))} at the end; ${reached.length} of ${own.length} seeds ` +
        `reach ${percent(target)}${reached.length > 0 ? `, after ${mean(reached).toFixed(0)} episodes on average` : ""}`
      );
    }),
  ].join("\n\n");
}
