/**
 * @file game.tw-pddl: one JSON object with the rules (the same in all games), the texts, the problem
 * and a recorded solution.
 */

import { compileGame, type Game } from "../engine/game.ts";
import { detached } from "../engine/names.ts";
import { GameError } from "../errors.ts";
import { readProblem } from "../pddl/problem.ts";
import { HELP } from "./help.ts";

/** What we use of a game file. */
export interface GameFile {
  readonly problem: string;
  /** What follows "Your task is to: ". */
  readonly task: string;
  readonly help: string;
  readonly solvable: boolean;
  readonly walkthrough: readonly string[];
}

/** Real ones have 60 to 120 thousand characters. */
export const LARGEST_GAME_FILE = 16_000_000;

export function readGameFile(text: string): GameFile {
  if (text.length > LARGEST_GAME_FILE)
    throw new GameError(`it has ${text.length} characters; at most ${LARGEST_GAME_FILE} are read.`);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new GameError(`it is not JSON (${(error as Error).message}). Is the file complete?`);
  }
  if (typeof json !== "object" || json === null || Array.isArray(json))
    throw new GameError("it is not a JSON object.");
  const fields = json as Record<string, unknown>;
  const textOf = (name: string): string => {
    const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (typeof value !== "string") throw new GameError(`its "${name}" is not a text.`);
    return value;
  };
  const walkthrough = fields.walkthrough ?? [];
  if (!Array.isArray(walkthrough) || walkthrough.some((command) => typeof command !== "string"))
    throw new GameError('its "walkthrough" is not a list of texts.');
  const grammar = textOf("grammar");
  return {
    problem: textOf("pddl_problem"),
    task: taskIn(grammar),
    help: helpIn(grammar) ?? HELP,
    solvable: fields.solvable === true,
    walkthrough: walkthrough as string[],
  };
}

export function gameOf({ problem, task, help }: GameFile): Game {
  return compileGame(readProblem(problem), { task, help });
}

const SOLVABLE_MARK = /"solvable"\s*:\s*(true|false|null)/;

/**
 * Whether a file says that it is solvable, from its last few thousand characters: thousands of files
 * must be asked. (A text in the file cannot look like the mark: its quotes would have backslashes.)
 */
export function isMarkedSolvable(tail: string): boolean | undefined {
  const mark = SOLVABLE_MARK.exec(tail)?.[1];
  return mark === undefined ? undefined : mark === "true";
}

const TASK_RULE = /"task"\s*:\s*\[\s*\{\s*"rhs"\s*:\s*("(?:[^"\\]|\\.)*")/;
const TASK_PREFIX = "Your task is to: ";

/** The grammar has JSON inside; we need one sentence of it. */
function taskIn(grammar: string): string {
  const literal = TASK_RULE.exec(grammar)?.[1];
  let sentence = "";
  try {
    sentence = literal === undefined ? "" : (JSON.parse(literal) as string);
  } catch {
    // Falls through to the message below.
  }
  if (!sentence.startsWith(TASK_PREFIX))
    throw new GameError(`its grammar has no rule "task" that says "${TASK_PREFIX}…".`);
  return sentence.slice(TASK_PREFIX.length);
}

const HELP_RULE = /action help \{\s*template :: "help";\s*feedback :: "([^"]*)";/;

/** The same in all games: kept once. */
let lastHelp = "";

function helpIn(grammar: string): string | undefined {
  const found = HELP_RULE.exec(grammar)?.[1];
  if (found !== undefined && found !== lastHelp) lastHelp = detached(found);
  return found === undefined ? undefined : lastHelp;
}
