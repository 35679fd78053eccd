/**
 * @file docs/leaderboard.md and its pictures, made from the entries.
 */
import { wilson } from "../../src/evaluation/index.ts";
import { curveSvg } from "../../src/monitoring/index.ts";
import { percent, table } from "../compare/tables.ts";
import { type Entry, reached } from "./entry.ts";

/** 86.7 % is what the original's documents report for GiGPO with a model of 1.5 billion parameters. */
export const GOALS = [0.867, 0.9];
export const SPLITS = ["held_out", "valid_seen", "unseen_rooms"];

export function leaderboardPage(entries: readonly Entry[]): string {
  return `${[
    HEAD,
    ...SPLITS.flatMap((split) => [
      `## ${TITLES[split]}`,
      goalTable(entries, split),
      ...pictureOf(entries, split),
    ]),
    "## The policies that were chosen",
    "Of each run, the one that did best in validation on `held_out`, or the one that it ended with; 50 turns, temperature 0.4.",
    chosenTable(entries),
    "## The entries",
    ...entries.map(description),
  ].join("\n\n")}\n`;
}

/** Success in validations over minutes of training, a curve per entry; by the file's name in docs/pictures. */
export function leaderboardPictures(entries: readonly Entry[]): Map<string, string> {
  const measured = SPLITS.filter((split) => measuredOn(entries, split).length > 0);
  return new Map(
    measured.map((split) => [
      fileOf(split),
      curveSvg({
        title: titleOf(split),
        x: "minutes of reinforcement learning",
        y: { label: "success", percent: true },
        series: measuredOn(entries, split).map(({ name, validations }) => ({
          name,
          runs: [
            validations.flatMap(({ minutes, success }) =>
              success[split] === undefined ? [] : [{ x: minutes, y: success[split] }],
            ),
          ],
        })),
      }),
    ]),
  );
}

function pictureOf(entries: readonly Entry[], split: string): string[] {
  const isThere = measuredOn(entries, split).length > 0;
  return isThere ? [`![${titleOf(split)}](pictures/${fileOf(split)})`] : [];
}

const fileOf = (split: string) => `leaderboard-${split.replaceAll("_", "-")}.svg`;

const titleOf = (split: string) => `Success in validations on ${split}, over minutes of training`;

const measuredOn = (entries: readonly Entry[], split: string) =>
  entries.filter(({ validations }) =>
    validations.some(({ success }) => success[split] !== undefined),
  );

const TITLES: Readonly<Record<string, string>> = {
  held_out: "Held-out games (policies are chosen by these)",
  valid_seen: "`valid_seen`",
  unseen_rooms: "Rooms never entered",
};

const HEAD = `# Leaderboard

ALFWorld by reinforcement learning, from a stated start: how long until a validation reached 86.7 % (what is
published for GiGPO with 1.5 billion parameters) and 90 %. Made by \`npm run leaderboard\` from the files in
\`benchmarks/leaderboard/entries\`; please do not edit it.

- Free generation; minutes, episodes and tokens are those of reinforcement learning alone, validations left out.
- The first validation at or above the goal counts, and a validation has few games: what was chosen is measured
  again, below.
- **To run an entry again:** \`npm run leaderboard -- run NAME\`. **To add one:** train with
  \`env.also_validate=[unseen_rooms,valid_seen]\`, then \`npm run leaderboard -- add RUN --name NAME …\` (it says what
  it wants to know), and send the file that it wrote.`;

function goalTable(entries: readonly Entry[], split: string): string {
  const measured = measuredOn(entries, split);
  if (measured.length === 0) return "No entry has measured it while it trained.";
  const rows = measured
    .map((entry) => ({ entry, at: GOALS.map((goal) => reached(entry, split, goal)) }))
    .sort((one, other) => minutesOf(one.at) - minutesOf(other.at))
    .map(({ entry, at }) => [
      entry.name,
      percent(entry.validations[0]!.success[split] ?? Number.NaN),
      percent(Math.max(...entry.validations.map(({ success }) => success[split] ?? 0))),
      ...at.flatMap((one) =>
        one
          ? [one.minutes.toFixed(0), `${one.episodes}`, `${(one.tokens / 1e6).toFixed(1)} M`]
          : ["–", "–", "–"],
      ),
    ]);
  const to = GOALS.flatMap((goal) => [`minutes to ${percent(goal)}`, "episodes", "tokens"]);
  return table(["", "start", "most", ...to], rows);
}

const minutesOf = (at: readonly ({ minutes: number } | undefined)[]): number =>
  at.reduceRight((sum, one, i) => sum + (one?.minutes ?? 1e6) * 10 ** (4 * i), 0);

function chosenTable(entries: readonly Entry[]): string {
  return table(
    ["", "iteration", ...SPLITS],
    entries.map(({ name, chosen }) => [
      ...[name, `${chosen.step}`],
      ...SPLITS.map((split) => {
        const counted = chosen.won[split];
        if (!counted) return "–";
        const { low, high } = wilson(...counted);
        return `${percent(counted[0] / counted[1])} of ${counted[1]} (${percent(low)} to ${percent(high)})`;
      }),
    ]),
  );
}

function description(entry: Entry): string {
  const { name, algorithm, model, start, expertEpisodes, command, games, turns } = entry;
  return [
    `**${name}**: ${algorithm}, ${model}. Start: ${start} (${expertEpisodes} episodes of others). By ${entry.by},`,
    `${entry.date}, commit ${entry.commit}, seed ${entry.seed}, ${entry.machine}. Validations: ${games} games of each split,`,
    `${turns} turns. \`${command}\``,
  ].join("\n");
}
