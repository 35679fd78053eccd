/**
 * @file One command in a state: text in, text and state out.
 */
import { readCommand } from "./command.ts";
import type { Game } from "./game.ts";
import { isPossible, stateAfter } from "./rules.ts";
import { answerTo, NOTHING_HAPPENS } from "./sentences.ts";
import type { State } from "./state.ts";

export interface Outcome {
  readonly state: State;
  readonly text: string;
  /** Whether the command was one of the admissible ones. */
  readonly admissible: boolean;
}

export function play(game: Game, state: State, action: string): Outcome {
  const command = readCommand(game, action);
  if (!command || !isPossible(game, state, command))
    return { state, text: NOTHING_HAPPENS, admissible: false };
  const next = stateAfter(game, state, command);
  return { state: next, text: answerTo(game, next, command), admissible: true };
}
