/**
 * @file The texts that a command answers with.
 */
import type { Command } from "./command.ts";
import { CAN, type Game, HAS_BEEN, IS } from "./game.ts";
import { listed } from "./names.ts";
import type { State } from "./state.ts";

export const NOTHING_HAPPENS = "Nothing happens.";

/** The answer to a command that was possible; `state` is the one after it. */
export function answerTo(game: Game, state: State, { verb, object, with: other }: Command): string {
  const [thing, place] = [game.objectNames[object], game.receptacleNames[other]];
  switch (verb) {
    case "go":
      return `You arrive at ${place}. ${descriptionOf(game, state, other)}`;
    case "open":
      return `You open the ${place}. ${descriptionOf(game, state, other)}`;
    case "close":
      return `You close the ${place}.`;
    case "examineReceptacle":
      return descriptionOf(game, state, other);
    case "examineObject":
      return conditionOf(game, state, object);
    case "take":
      return `You pick up the ${thing} from the ${place}.`;
    case "move":
      return `You move the ${thing} to the ${place}.`;
    case "clean":
    case "heat":
    case "cool":
      return `You ${verb} the ${thing} using the ${place}.`;
    case "use":
      return `You turn on the ${thing}.`;
    case "slice":
      return `You sliced the ${thing} with the ${game.objectNames[other]}.`;
    case "look":
      return surroundings(game, state);
    case "inventory":
      return state.held < 0
        ? "You are not carrying anything."
        : `You are carrying: a ${game.objectNames[state.held]}.`;
    case "help":
      return game.help;
  }
}

function descriptionOf(game: Game, state: State, receptacle: number): string {
  const now = state.receptacles[receptacle]!;
  if (now.description !== undefined) return now.description;
  const name = game.receptacleNames[receptacle];
  const openable = (game.natures[receptacle]! & IS.openable) !== 0;
  // Of closed ones, and many are, nothing is listed.
  const objects =
    openable && !now.opened
      ? ""
      : listed(now.objects.map((object) => `a ${game.objectNames[object]}`));
  now.description = !openable
    ? `On the ${name}, you see ${objects}.`
    : now.opened
      ? `The ${name} is open. In it, you see ${objects}.`
      : `The ${name} is closed.`;
  return now.description;
}

function surroundings(game: Game, state: State): string {
  const here = game.receptaclesAt[state.location]!;
  if (here.length === 0)
    return "You are in the middle of a room. Looking quickly around you, you see nothing.";
  const names = here.map((receptacle) => game.receptacleNames[receptacle]!);
  const beside = state.takenOut
    .filter((pair) => {
      const receptacle = pair % game.receptacleIds.length;
      const object = (pair - receptacle) / game.receptacleIds.length;
      return here.includes(receptacle) && state.places[state.location]!.includes(object);
    })
    .map((pair) => `a ${game.objectNames[Math.floor(pair / game.receptacleIds.length)]}`);
  return `You are facing the ${listed(names)}. Next to it, you see ${listed(beside)}.`;
}

function conditionOf(game: Game, state: State, object: number): string {
  const name = game.objectNames[object];
  const is = state.conditions[object]!;
  if ((game.abilities[object]! & CAN.holdThings) !== 0)
    return `This is a normal ${name}. In it, you see ${game.insides[object]}.`;
  const clean = (is & HAS_BEEN.cleaned) !== 0;
  const sliced = (is & HAS_BEEN.sliced) !== 0;
  const temperature = is & HAS_BEEN.heated ? "hot" : is & HAS_BEEN.cooled ? "cool" : "";
  const adjectives = [temperature, clean ? "clean" : ""].filter(Boolean).join(" and ");
  if (sliced && adjectives) return `This is a ${adjectives} sliced ${name}.`;
  // The one sentence in which cool things are called cold.
  if (adjectives) return `This is a ${adjectives === "cool" ? "cold" : adjectives} ${name}.`;
  if ((game.abilities[object]! & CAN.beSwitched) !== 0 && (is & HAS_BEEN.switched) !== 0)
    return `This ${name} is on.`;
  if (sliced && (game.abilities[object]! & CAN.beSliced) !== 0) return `This is a sliced ${name}.`;
  return `There's nothing special about ${name}.`;
}
