/**
 * @file What sharding saves and costs: state and peak memory per rank, bytes on the wire against the formula,
 * and how much of the communication is hidden behind what is computed. 1, 2 and 4 ranks on this machine,
 * over loopback.
 */
import { availableThreads } from "../src/setup/index.ts";
import { launch } from "../src/torch/index.ts";
import type { Benchmark } from "./main.ts";
import { table } from "./measure.ts";

const TOKENS = 256;
const UPDATES = 1;
const RANKS = [1, 2, 4];

interface RankFigures {
  readonly rank: number;
  readonly stateBytes: number;
  readonly peakBytes: number;
  readonly secondsPerUpdate: number;
  readonly sentPerUpdate: number;
  readonly formula: number;
  readonly communicated: number;
  readonly waited: number;
}

interface Figures {
  readonly cores: number;
  readonly runs: { readonly ranks: number; readonly each: RankFigures[] }[];
}

const HEADINGS = [
  ...["ranks", "state per rank", "of the whole", "peak per rank", "update", "sent per rank"],
  ...["off the formula", "hidden"],
];

async function measured(ranks: number): Promise<RankFigures[]> {
  const each: RankFigures[] = [];
  await launch(new URL("./sharding-rank.ts", import.meta.url), {
    processes: ranks,
    arguments: [String(TOKENS), String(UPDATES)],
    onLine: ({ text }) => {
      if (text.startsWith("FIGURES ")) each.push(JSON.parse(text.slice(8)) as RankFigures);
      else console.error(text);
    },
  });
  return each.sort((a, b) => a.rank - b.rank);
}

export const sharding: Benchmark = {
  async run(): Promise<Figures> {
    const runs: Figures["runs"] = [];
    for (const ranks of RANKS) {
      const each = await measured(ranks);
      console.error(`${ranks} ranks: ${JSON.stringify(each[0])}`);
      runs.push({ ranks, each });
    }
    return { cores: availableThreads(), runs };
  },
  report(figures) {
    const { runs, cores } = figures as Figures;
    const gigabytes = (bytes: number) => `${(bytes / 2 ** 30).toFixed(2)} GB`;
    const most = (each: RankFigures[], of: (one: RankFigures) => number) =>
      Math.max(...each.map(of));
    const whole = most(runs[0]!.each, (one) => one.stateBytes);
    const rows = runs.map(({ ranks, each }) => {
      const state = most(each, (one) => one.stateBytes);
      const sent = most(each, (one) => one.sentPerUpdate);
      const { formula } = each[0]!;
      const sum = (of: (one: RankFigures) => number) => each.reduce((all, one) => all + of(one), 0);
      const shown = sum(({ waited }) => waited) / sum(({ communicated }) => communicated);
      return [
        String(ranks),
        gigabytes(state),
        `${((100 * state) / whole).toFixed(2)} %`,
        gigabytes(most(each, (one) => one.peakBytes)),
        `${most(each, (one) => one.secondsPerUpdate).toFixed(1)} s`,
        ranks === 1 ? "" : gigabytes(sent),
        ranks === 1 ? "" : `${(100 * (sent / formula - 1)).toFixed(2)} %`,
        ranks === 1 ? "" : `${(100 * (1 - shown)).toFixed(0)} %`,
      ];
    });
    return (
      `322 million float32 weights, ${TOKENS} tokens per rank and update, ${cores} cores\n\n` +
      table([HEADINGS, ...rows])
    );
  },
};
