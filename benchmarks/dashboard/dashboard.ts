/**
 * @file `npm run bench -- dashboard`: the page over a long run, the server while it follows one, and what the dashboard's
 * records cost a training.
 */
import { parseArgs } from "node:util";
import { ArgumentError } from "../arguments.ts";
import type { Benchmark } from "../main.ts";
import { type FollowFigures, followed } from "./follow.ts";
import { type PageFigures, pageFigures } from "./page.ts";
import { type RecordingFigures, recordingFigures } from "./recording.ts";

interface Figures {
  readonly page?: PageFigures;
  readonly recording?: RecordingFigures;
  readonly follow?: FollowFigures;
}

const PARTS = ["page", "recording", "follow"];

export const dashboard: Benchmark = {
  usage: [
    `  --only PART    one of ${PARTS.join(", ")} (all)`,
    "  --rounds N     trainings of each kind (5)",
    "  --minutes N    for how long a run is followed (60)",
    "  --beat N       seconds between two of its iterations (5)",
  ].join("\n"),
  async run(words): Promise<Figures> {
    const { only, minutes, beat, rounds } = valuesOf(words);
    const wants = (part: string) => only === undefined || only === part;
    return {
      ...(wants("page") && { page: await pageFigures() }),
      ...(wants("recording") && { recording: await recordingFigures(rounds) }),
      ...(wants("follow") && { follow: await followed(minutes, beat) }),
    };
  },
  report(given) {
    const { page, recording, follow } = given as Figures;
    return [
      ...(page ? pageLines(page) : []),
      ...(recording ? recordingLines(recording) : []),
      ...(follow ? followLines(follow) : []),
    ].join("\n");
  },
};

function valuesOf(words: readonly string[]) {
  const { values } = parseArgs({
    args: [...words],
    options: {
      only: { type: "string" },
      minutes: { type: "string", default: "60" },
      beat: { type: "string", default: "5" },
      rounds: { type: "string", default: "5" },
    },
  });
  const [minutes, beat, rounds] = [values.minutes, values.beat, values.rounds].map(Number) as [
    number,
    number,
    number,
  ];
  if (values.only !== undefined && !PARTS.includes(values.only))
    throw new ArgumentError(`--only is one of ${PARTS.join(", ")}, not ${values.only}.`);
  if (!(minutes > 0 && beat > 0 && rounds >= 1))
    throw new ArgumentError("--minutes, --beat and --rounds are numbers above 0.");
  return { only: values.only, minutes, beat, rounds };
}

const row = (name: string, value: string, goal = "") =>
  `${name.padEnd(50)} ${value.padStart(9)}  ${goal}`.trimEnd();
const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`;
const times = (values: Readonly<Record<string, number>>, what: string, goal: string) =>
  Object.entries(values).map(([name, value]) =>
    row(`${what} ${name}`, `${value.toFixed(0)} ms`, goal),
  );

function pageLines(figures: PageFigures): string[] {
  return [
    `${figures.episodes} episodes in ${figures.iterations} iterations`,
    row("the server reads all of it, once", `${figures.firstAnswer.toFixed(0)} ms`),
    ...times(figures.paints, "a new page shows:", "under 1000 ms"),
    ...times(figures.filters, "the page shows what fits", "under 100 ms"),
    row("memory of the page (JavaScript)", megabytes(figures.pageBytes), "under 200 MB"),
    row("memory of the browser's process that shows it", megabytes(figures.rendererBytes)),
    row("memory of the server", megabytes(figures.serverBytes)),
    "",
  ];
}

function recordingLines({ iterations, seconds, costs, bytes }: RecordingFigures): string[] {
  return [
    `an iteration of GiGPO, 4 × 8 episodes of 8 turns, ${seconds.toFixed(2)} s with one thread (${iterations} of each kind, in turn)`,
    ...Object.entries(costs).map(([name, { share, largest }]) =>
      row(
        `${name} takes`,
        `${(100 * share).toFixed(2)} % (at most ${(100 * largest).toFixed(2)} % of one)`,
        "under 2 %",
      ),
    ),
    row("stored of each token", `${bytes.toFixed(1)} B`),
    "",
  ];
}

function followLines({ minutes, iterations, episodes, answers, memory }: FollowFigures): string[] {
  return [
    `a run followed for ${minutes} minutes: ${iterations} iterations, ${episodes} episodes, ${answers} answers`,
    ...memory.flatMap((bytes, i) =>
      (i + 1) % 10 === 0 || i === 0 || i === memory.length - 1
        ? [row(`memory of the server after ${i + 1} min`, megabytes(bytes))]
        : [],
    ),
    "",
  ];
}
