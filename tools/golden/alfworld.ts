/**
 * @file Golden transcripts of ALFWorld: `[{ gamefile, taskType, intro, admissible0, steps: [{ command,
 * observation, admissible, won }] }]`. Each is replayed by our engine from its game file; every text,
 * every list of admissible commands and every `won` must be equal. The observation "HELP" stands for
 * whatever `help` answers.
 */
import {
  admissibleCommands,
  type Entry,
  gameOf,
  type Library,
  openLibrary,
  play,
} from "../../src/environments/alfworld/internals.ts";
import type { CaseResult } from "./main.ts";

interface Transcript {
  readonly gamefile: string;
  readonly intro: string;
  readonly admissible0: readonly string[];
  readonly steps: readonly {
    readonly command: string;
    readonly observation: string;
    readonly admissible: readonly string[];
    readonly won: boolean;
  }[];
}

/** `games`: a folder or archive that holds the game files. */
export async function checkAlfworld(
  file: unknown,
  games: string | Library = "",
): Promise<CaseResult[]> {
  if (!Array.isArray(file)) throw new TypeError("expected a list of transcripts");
  const transcripts = file.map(asTranscript);
  const library = typeof games === "string" ? await openLibrary(games) : games;
  return transcripts.map((transcript) => {
    try {
      return { name: transcript.gamefile, ...check(transcript, library) };
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      return { name: transcript.gamefile, problems: [problem] };
    }
  });
}

function check(transcript: Transcript, library: Library): Omit<CaseResult, "name"> {
  const game = gameOf(library.read(findGame(transcript.gamefile, library.entries)));
  const problems: string[] = [];
  const compare = (what: string, ours: unknown, theirs: unknown): void => {
    const [one, other] = [JSON.stringify(ours), JSON.stringify(theirs)];
    if (one !== other) problems.push(`${what}: ours ${one}, theirs ${other}`);
  };
  let state = game.start;
  compare("intro", game.intro, transcript.intro);
  compare("first commands", admissibleCommands(game, state), transcript.admissible0);
  for (const [number, step] of transcript.steps.entries()) {
    const outcome = play(game, state, step.command);
    state = outcome.state;
    const title = `step ${number + 1}, "${step.command}"`;
    if (step.observation !== "HELP") compare(title, outcome.text, step.observation);
    compare(`${title}, commands`, admissibleCommands(game, state), step.admissible);
    compare(`${title}, won`, game.goal.isReached(state), step.won);
  }
  return { problems, remark: `${transcript.steps.length} steps` };
}

/** Paths in transcripts may begin further up or further down than ours. */
function findGame(gamefile: string, entries: readonly Entry[]): string {
  const path = `/${gamefile.replaceAll("\\", "/").replace(/^\/+/, "")}`;
  const matches = entries.filter(({ id }) => `/${id}`.endsWith(path) || path.endsWith(`/${id}`));
  if (matches.length === 1) return matches[0]!.id;
  throw new Error(
    matches.length === 0 ? "there is no such game in the folder" : "several games have this path",
  );
}

function asTranscript(value: unknown, number: number): Transcript {
  const isText = (text: unknown): boolean => typeof text === "string";
  const isTexts = (list: unknown): boolean => Array.isArray(list) && list.every(isText);
  const { gamefile, intro, admissible0, steps } = (value ?? {}) as Partial<Transcript>;
  const right =
    isText(gamefile) &&
    isText(intro) &&
    isTexts(admissible0) &&
    Array.isArray(steps) &&
    steps.every(
      (step) =>
        isText(step?.command) &&
        isText(step.observation) &&
        isTexts(step.admissible) &&
        typeof step.won === "boolean",
    );
  if (!right)
    throw new TypeError(
      `transcript ${number + 1} lacks gamefile, intro, admissible0, or steps with command, observation, admissible and won`,
    );
  return value as Transcript;
}
