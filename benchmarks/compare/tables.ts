/**
 * @file Tables of a comparison, in Markdown: success of the last validations, pooled over seeds.
 */
import { signTest, wilson } from "../../src/evaluation/index.ts";
import type { About, Measured } from "./digest.ts";

/** The runs of an algorithm, seed by seed, each with its validations in their order. */
export function runsOf(lines: readonly Measured[], algorithm: string): Measured[][] {
  const own = lines.filter((line) => line.algorithm === algorithm);
  return [...new Set(own.map(({ seed }) => seed))].map((seed) =>
    own.filter((line) => line.seed === seed),
  );
}

/** The start, which all runs share: one measurement of it. */
export function startOf(lines: readonly Measured[]): readonly Measured[] {
  return lines.filter(({ step }) => step === 0).slice(0, 1);
}

export function algorithmsOf(lines: readonly Measured[]): string[] {
  return [...new Set(lines.map(({ algorithm }) => algorithm))];
}

/** Base after SFT first, then a row per algorithm; the last validation of each of its seeds. */
export function successTable(lines: readonly Measured[], withScore: boolean): string {
  const before = startOf(lines);
  const others = [...new Set(lines.flatMap(({ also = {} }) => Object.keys(also)))].sort();
  const rows = algorithmsOf(lines).map((algorithm) => {
    const last = runsOf(lines, algorithm).map((run) => run.at(-1)!);
    return row(algorithm, last, withScore, others);
  });
  const head = ["", "seeds", "success", "95 % interval", "each seed"];
  const more = [...(withScore ? ["score"] : []), ...others.map((split) => `in \`${split}\``)];
  const figures = [
    ...["own episodes", "each seed"],
    ...["valid actions", "turns", "episodes", "sampled tokens", "minutes"],
  ];
  return table(
    [...head, ...more, ...figures],
    [...(before.length > 0 ? [row("after SFT", before, withScore, others)] : []), ...rows],
  );
}

/** Success by kind of task, pooled over seeds. */
export function typeTable(lines: readonly Measured[]): string {
  const types = [...new Set(lines.flatMap((line) => Object.keys(line.types)))].sort();
  const row = (name: string, some: readonly Measured[]) => [
    name,
    ...types.map((type) => percent(mean(some.map((line) => line.types[type] ?? Number.NaN)))),
  ];
  return table(
    ["", ...types.map((type) => `\`${type}\``)],
    [
      row("after SFT", startOf(lines)),
      ...algorithmsOf(lines).map((name) =>
        row(
          name,
          runsOf(lines, name).map((run) => run.at(-1)!),
        ),
      ),
    ],
  );
}

/** What was asked before the runs, answered in pairs: the same seeds, and in each the same tasks. */
export function questionTable(
  lines: readonly Measured[],
  questions: NonNullable<About["questions"]>,
): string {
  const lastOf = (algorithm: string) => runsOf(lines, algorithm).map((run) => run.at(-1)!);
  const rows = questions.flatMap(([first, second]) => {
    const others = new Map(lastOf(second).map((line) => [line.seed, line]));
    const pairs = lastOf(first).flatMap((line) => {
      const other = others.get(line.seed);
      return other ? [{ line, other }] : [];
    });
    if (pairs.length === 0) return [];
    let [better, worse] = [0, 0];
    for (const { line, other } of pairs)
      for (const [place, won] of [...line.won!].entries()) {
        if (won > other.won![place]!) better++;
        if (won < other.won![place]!) worse++;
      }
    const differences = pairs.map(({ line, other }) => line.success - other.success);
    const p = signTest(better, worse);
    const same = [1, -1].some((sign) => differences.every((value) => sign * value > 0));
    return [
      [
        `${first} against ${second}`,
        `**${points(mean(differences))}**`,
        differences.map(points).join(", "),
        `${better}`,
        `${worse}`,
        p.toPrecision(1),
        same && p < 0.01 ? (better > worse ? "better" : "worse") : "not shown",
      ],
    ];
  });
  return table(
    ["", "points", "each seed", "only the first wins", "only the second", "p", ""],
    rows,
  );
}

/** Validation success of the tuning runs. */
export function tuningTable(tuned: NonNullable<About["tuned"]>): string {
  const rates = Object.keys(Object.values(tuned)[0] ?? {}).sort((a, b) => Number(a) - Number(b));
  return table(
    ["rate", ...rates],
    Object.entries(tuned).map(([name, byRate]) => [
      name,
      ...rates.map((rate) => percent(byRate[rate] ?? Number.NaN)),
    ]),
  );
}

const points = (share: number): string =>
  `${share < 0 ? "−" : "+"}${(100 * Math.abs(share)).toFixed(1)}`;

function row(
  name: string,
  some: readonly Measured[],
  withScore: boolean,
  others: readonly string[],
): string[] {
  const { rate, low, high } = pooled(some, ({ success }) => success);
  return [
    name,
    `${some.length}`,
    `**${percent(rate)}**`,
    `${percent(low)} to ${percent(high)}`,
    some.map(({ success }) => percent(success)).join(", "),
    ...(withScore ? [mean(some.map(({ score }) => score)).toFixed(3)] : []),
    ...others.map((split) => {
      const also = pooled(some, (line) => line.also?.[split] ?? Number.NaN);
      return `**${percent(also.rate)}** (${percent(also.low)} to ${percent(also.high)})`;
    }),
    percent(mean(some.map(({ learnedFrom }) => learnedFrom ?? Number.NaN))),
    some.map(({ learnedFrom }) => percent(learnedFrom ?? Number.NaN)).join(", "),
    percent(mean(some.map(({ valid }) => valid))),
    mean(some.map(({ turns }) => turns)).toFixed(1),
    `${Math.round(mean(some.map((line) => line.episodes)))}`,
    thousands(mean(some.map(({ tokens }) => tokens))),
    mean(some.map(({ minutes }) => minutes)).toFixed(1),
  ];
}

/** Episodes of all validations together. */
function pooled(some: readonly Measured[], rateOf: (line: Measured) => number) {
  const episodes = some.reduce((sum, { tasks }) => sum + tasks, 0);
  const won = some.reduce((sum, line) => sum + Math.round(line.tasks * rateOf(line)), 0);
  return { rate: won / episodes, ...wilson(won, episodes) };
}

/** Aligned as the formatter wants it: the first column to the left, figures to the right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((_, i) => Math.max(3, ...[head, ...rows].map((row) => row[i]!.length)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join(" | ")} |`;
  const rule = widths.map((width, i) =>
    i === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`,
  );
  return [line(head), line(rule), ...rows.map(line)].join("\n");
}

export const percent = (share: number): string =>
  Number.isNaN(share) ? "–" : `${(100 * share).toFixed(1)} %`;

const thousands = (count: number): string => `${Math.round(count / 1000)} k`;

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
