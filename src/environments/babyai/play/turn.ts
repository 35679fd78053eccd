/**
 * @file A turn of the text game: what is seen and can be done, and what a command does.
 */

import { type Commands, commandsOf } from "./commands.ts";
import { describedSights, sightsOf } from "./description.ts";
import { type Acted, acted, type Game } from "./game.ts";
import { looksSame, viewOf } from "./view.ts";

const known = new WeakMap<Game, Commands>();

/** The commands of a state; kept as long as the state is. */
export function commandsIn(game: Game): Commands {
  let commands = known.get(game);
  if (!commands) {
    commands = commandsOf(game, sightsOf(game, viewOf(game)));
    known.set(game, commands);
  }
  return commands;
}

export function described(game: Game): string {
  return describedSights(game, sightsOf(game, viewOf(game)));
}

/** What came of a command. */
export interface Turn extends Acted {
  readonly text: string;
  /** How many low-level actions were carried out. */
  readonly actions: number;
}

/** Any text is a command. Case and white space around it do not matter, as in the original. */
export function turned(game: Game, command: string): Turn {
  const asked = command.toLowerCase().trim();
  const answer = (text: string): Turn => ({ game, text, isOver: false, reward: 0, actions: 0 });
  const { possible, refused } = commandsIn(game);
  if (asked.includes("check"))
    return answer(`You can take the following actions: ${[...possible.keys()].join(", ")}`);
  if (asked === "") return answer("No change in state.");
  const actions = possible.get(asked);
  if (!actions)
    return answer(
      refused.get(asked) ?? "The action is not recognized. Please check valid actions.",
    );
  if (actions.length === 0) return answer("No change in state.");
  let last: Acted = { game, isOver: false, reward: 0 };
  let view = viewOf(game);
  let count = 0;
  for (const action of actions) {
    last = acted(last.game, action);
    count++;
    const next = viewOf(last.game);
    // An action after which everything looks the same is taken for one that failed.
    if (looksSame(view, next)) break;
    view = next;
  }
  const text = described(last.game);
  return {
    ...{ game: last.game, reward: last.reward, actions: count },
    text: last.isOver ? `${text}\n The task is completed.` : text,
    // A mission that failed, or took too long, goes on.
    isOver: last.isOver && last.reward > 0.5,
  };
}
