/**
 * @file Commands: what an agent types, as numbers.
 */

import { stripped } from "../pddl/white-space.ts";
import type { Game } from "./game.ts";

export type Verb =
  | "go"
  | "open"
  | "close"
  | "take"
  | "move"
  | "clean"
  | "heat"
  | "cool"
  | "use"
  | "slice"
  | "examineReceptacle"
  | "examineObject"
  | "look"
  | "inventory"
  | "help";

/** What a verb does not need is −1. */
export interface Command {
  readonly verb: Verb;
  readonly object: number;
  /** The receptacle; for `slice` the object to cut with. */
  readonly with: number;
}

const LOOK: Command = { verb: "look", object: -1, with: -1 };
const INVENTORY: Command = { verb: "inventory", object: -1, with: -1 };
const HELP: Command = { verb: "help", object: -1, with: -1 };

/** Undefined where the text is no command about things of this game, whatever it holds. */
export function readCommand(game: Game, action: string): Command | undefined {
  const text = stripped(action);
  // Nothing this long is a command.
  if (text.length > game.longestCommand) return undefined;
  switch (text.slice(0, text.indexOf(" ") + 1)) {
    case "":
      return text === "look"
        ? LOOK
        : text === "inventory"
          ? INVENTORY
          : text === "help"
            ? HELP
            : undefined;
    case "go ":
      return text.startsWith("to ", 3) ? about(game, "go", text.slice(6)) : undefined;
    case "open ":
      return about(game, "open", text.slice(5));
    case "close ":
      return about(game, "close", text.slice(6));
    case "examine ":
      return (
        about(game, "examineReceptacle", text.slice(8)) ??
        about(game, "examineObject", text.slice(8))
      );
    case "use ":
      return about(game, "use", text.slice(4));
    case "take ":
      return between(game, "take", text, " from ");
    case "move ":
      return between(game, "move", text, " to ");
    case "clean ":
      return between(game, "clean", text, " with ");
    case "heat ":
      return between(game, "heat", text, " with ");
    case "cool ":
      return between(game, "cool", text, " with ");
    case "slice ":
      return between(game, "slice", text, " with ");
    default:
      return undefined;
  }
}

function about(game: Game, verb: Verb, name: string): Command | undefined {
  if (verb === "use" || verb === "examineObject") {
    const object = game.objectByName.get(name);
    return object === undefined ? undefined : { verb, object, with: -1 };
  }
  const receptacle = game.receptacleByName.get(name);
  return receptacle === undefined ? undefined : { verb, object: -1, with: receptacle };
}

function between(game: Game, verb: Verb, text: string, word: string): Command | undefined {
  const middle = text.indexOf(word, verb.length + 1);
  if (middle < 0) return undefined;
  const object = game.objectByName.get(text.slice(verb.length + 1, middle));
  if (object === undefined) return undefined;
  const names = verb === "slice" ? game.objectByName : game.receptacleByName;
  const other = names.get(text.slice(middle + word.length));
  return other === undefined ? undefined : { verb, object, with: other };
}

/** The text of a command. */
export function commandText(game: Game, { verb, object, with: other }: Command): string {
  const [thing, place] = [game.objectNames[object], game.receptacleNames[other]];
  switch (verb) {
    case "go":
      return `go to ${place}`;
    case "open":
    case "close":
      return `${verb} ${place}`;
    case "examineReceptacle":
      return `examine ${place}`;
    case "examineObject":
      return `examine ${thing}`;
    case "use":
      return `use ${thing}`;
    case "take":
      return `take ${thing} from ${place}`;
    case "move":
      return `move ${thing} to ${place}`;
    case "clean":
    case "heat":
    case "cool":
      return `${verb} ${thing} with ${place}`;
    case "slice":
      return `slice ${thing} with ${game.objectNames[other]}`;
    case "look":
    case "inventory":
    case "help":
      return verb;
  }
}
