/**
 * @file `npm run bench -- speculation`: episodes with guessed tokens and without, by turns in one run, at
 * several numbers of episodes at once.
 */
import { parseArgs } from "node:util";
import { threads } from "../src/torch/index.ts";
import { ArgumentError } from "./arguments.ts";
import type { Benchmark } from "./main.ts";
import { median, table } from "./measure.ts";
import { newPlayer, openSpeculationWorkload, type Played } from "./speculation-workload.ts";

/** Episodes at once, episodes of an iteration, and the least ratio. */
const CASES: readonly [number, number, number][] = [
  [1, 8, 1.5],
  [4, 16, 1.5],
  [8, 16, 1.5],
  [64, 64, 0.97],
];

interface Row {
  atOnce: number;
  episodes: number;
  tokens: number;
  /** Medians of iterations: whole rollouts. */
  plainSeconds: number;
  seconds: number;
  /** Plain time through ours: of the first iteration, and the median of later ones. */
  first: number;
  later: number;
  /** The same of the processor's time. */
  cpu: number;
  bar: number;
  /** Of a drawn token: guesses that were computed, and guesses that were right. */
  guessed: number;
  accepted: number;
}

interface Figures {
  threads: number;
  model: string;
  rows: Row[];
}

export const speculation: Benchmark = {
  usage: [
    `  --at-once LIST   episodes at once, of ${CASES.map(([atOnce]) => atOnce).join(", ")} (by default all)`,
    "  --iterations N   of each; the first, where nothing is known yet, is reported apart (6)",
  ].join("\n"),
  async run(words): Promise<Figures> {
    const { cases, iterations } = optionsOf(words);
    const workload = await openSpeculationWorkload();
    const rows: Row[] = [];
    for (const [atOnce, episodes, bar] of cases) {
      const [plain, ours] = [false, true].map((speculating) =>
        newPlayer(workload, { speculation: speculating, episodes, atOnce }),
      );
      const pairs: { plain: Played; ours: Played }[] = [];
      for (let iteration = 0; iteration < iterations; iteration++) {
        // By turns, and each goes first as often as the other.
        const early = iteration % 2 === 0 ? await plain!.play(iteration) : undefined;
        const own = await ours!.play(iteration);
        const pair = { plain: early ?? (await plain!.play(iteration)), ours: own };
        if (pair.plain.replies !== pair.ours.replies)
          throw new Error("the guessing engine's replies are not those of the plain one");
        pairs.push(pair);
        console.error(
          `${atOnce} at once, iteration ${iteration}: ${ratioOf(pair).toFixed(2)} × ` +
            `(${pair.plain.seconds.toFixed(2)} s, ${own.seconds.toFixed(2)} s)`,
        );
      }
      await Promise.all([plain!.close(), ours!.close()]);
      rows.push({ ...rowOf(pairs), atOnce, episodes, bar });
    }
    workload.model.dispose();
    await workload.world.world.close?.();
    return { threads: threads(), model: workload.about, rows };
  },
  report(found) {
    const { rows, model, threads: count } = found as Figures;
    return [
      `${model}; ${count} threads; six turns, temperature 1, groups of eight`,
      table([
        [
          "at once",
          "tokens",
          "plain",
          "guessing",
          "first",
          "later",
          "processor",
          "bar",
          "guessed",
          "right",
          "",
        ],
        ...rows.map((row) => [
          String(row.atOnce),
          String(row.tokens),
          `${row.plainSeconds.toFixed(2)} s`,
          `${row.seconds.toFixed(2)} s`,
          `${row.first.toFixed(2)} ×`,
          `${row.later.toFixed(2)} ×`,
          `${row.cpu.toFixed(2)} ×`,
          `≥ ${row.bar} ×`,
          `${row.guessed.toFixed(2)} /token`,
          `${row.accepted.toFixed(2)} /token`,
          row.later < row.bar ? "MISSED" : "",
        ]),
      ]),
    ].join("\n");
  },
};

function optionsOf(words: readonly string[]) {
  const text = { type: "string" } as const;
  const options = { "at-once": text, iterations: text };
  const { values } = parseArgs({ args: [...words], options, strict: true });
  const wanted = values["at-once"]?.split(",").map(Number);
  const iterations = Number(values.iterations ?? 6);
  if (wanted?.some((count) => !CASES.some(([atOnce]) => atOnce === count)))
    throw new ArgumentError(`--at-once: there is no such case in "${values["at-once"]}"`);
  if (!(Number.isInteger(iterations) && iterations >= 2))
    throw new ArgumentError(`--iterations: expected 2 or more, got "${values.iterations}"`);
  return { cases: CASES.filter(([atOnce]) => wanted?.includes(atOnce) ?? true), iterations };
}

function ratioOf({ plain, ours }: { plain: Played; ours: Played }): number {
  return plain.seconds / ours.seconds;
}

function rowOf(pairs: { plain: Played; ours: Played }[]): Omit<Row, "atOnce" | "episodes" | "bar"> {
  const later = pairs.slice(1);
  const sum = (of: (played: Played) => number) =>
    later.reduce((total, { ours }) => total + of(ours), 0);
  const tokens = sum(({ sampledTokens }) => sampledTokens);
  return {
    tokens: Math.round(tokens / later.length),
    plainSeconds: median(later.map(({ plain }) => plain.seconds)),
    seconds: median(later.map(({ ours }) => ours.seconds)),
    first: ratioOf(pairs[0]!),
    later: median(later.map(ratioOf)),
    cpu: median(later.map(({ plain, ours }) => plain.cpuSeconds / ours.cpuSeconds)),
    guessed: sum(({ statistics }) => statistics.guessedTokens) / tokens,
    accepted: sum(({ statistics }) => statistics.acceptedTokens) / tokens,
  };
}
