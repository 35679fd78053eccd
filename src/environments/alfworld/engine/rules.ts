/**
 * @file The rules: whether a command can be done, and the state after it.
 */
import type { Command } from "./command.ts";
import { CAN, type Game, HAS_BEEN, IS } from "./game.ts";
import {
  excluding,
  including,
  type ReceptacleState,
  receptacleState,
  replaced,
  State,
} from "./state.ts";

/** Whether the command is possible now. */
export function isPossible(game: Game, state: State, command: Command): boolean {
  const { object, with: other } = command;
  switch (command.verb) {
    case "look":
    case "inventory":
    case "help":
      return true;
    case "go":
      return game.locations[other]! >= 0 && game.locations[other] !== state.location;
    case "examineReceptacle":
      return isHere(game, state, other);
    case "examineObject":
      return state.held === object;
    case "open":
      return (
        isHere(game, state, other) &&
        (game.natures[other]! & IS.openable) !== 0 &&
        !state.receptacles[other]!.opened
      );
    case "close":
      return (
        isHere(game, state, other) &&
        (game.natures[other]! & IS.openable) !== 0 &&
        state.receptacles[other]!.opened
      );
    case "take":
      return (
        state.held < 0 &&
        (game.abilities[object]! & CAN.beTaken) !== 0 &&
        isHere(game, state, other) &&
        isAccessible(game, state, other) &&
        state.receptacles[other]!.objects.includes(object)
      );
    case "move":
      return (
        state.held === object &&
        isHere(game, state, other) &&
        isAccessible(game, state, other) &&
        game.mayHold[other * game.objectIds.length + object] === 1
      );
    case "clean":
      return canTreat(game, state, command, CAN.beCleaned, IS.sink);
    case "heat":
      return canTreat(game, state, command, CAN.beHeated, IS.microwave);
    case "cool":
      return canTreat(game, state, command, CAN.beCooled, IS.fridge);
    case "use":
      return (
        (game.abilities[object]! & CAN.beSwitched) !== 0 &&
        game.receptaclesAt[state.location]!.some((receptacle) =>
          state.receptacles[receptacle]!.objects.includes(object),
        )
      );
    case "slice":
      return (
        state.held === other &&
        (game.abilities[other]! & CAN.slice) !== 0 &&
        (game.abilities[object]! & CAN.beSliced) !== 0 &&
        state.places[state.location]!.includes(object)
      );
  }
}

/** The state after a possible command; the same one where nothing changes. */
export function stateAfter(
  game: Game,
  state: State,
  { verb, object, with: other }: Command,
): State {
  const { location, held, receptacles, conditions, places, takenOut } = state;
  switch (verb) {
    case "go":
      return new State(game.locations[other]!, held, receptacles, conditions, places, takenOut);
    case "open":
    case "close": {
      const opened = withReceptacle(state, other, { opened: verb === "open" });
      return new State(location, held, opened, conditions, places, takenOut);
    }
    case "take":
      return new State(
        location,
        object,
        withReceptacle(state, other, {
          objects: excluding(receptacles[other]!.objects, object),
        }),
        conditions,
        replaced(places, location, excluding(places[location]!, object)),
        including(takenOut, object * game.receptacleIds.length + other),
      );
    case "move":
      return new State(
        location,
        -1,
        withReceptacle(state, other, {
          objects: including(receptacles[other]!.objects, object),
        }),
        conditions,
        replaced(places, location, including(places[location]!, object)),
        excluding(takenOut, object * game.receptacleIds.length + other),
      );
    case "clean":
      return withCondition(state, object, conditions[object]! | HAS_BEEN.cleaned);
    case "heat":
      return withCondition(
        state,
        object,
        (conditions[object]! | HAS_BEEN.heated) & ~HAS_BEEN.cooled,
      );
    case "cool":
      return withCondition(
        state,
        object,
        (conditions[object]! | HAS_BEEN.cooled) & ~HAS_BEEN.heated,
      );
    case "use":
      return withCondition(state, object, (conditions[object]! | HAS_BEEN.switched) ^ HAS_BEEN.lit);
    case "slice":
      return withCondition(state, object, conditions[object]! | HAS_BEEN.sliced);
    default:
      return state;
  }
}

export function isHere(game: Game, state: State, receptacle: number): boolean {
  return game.locations[receptacle] === state.location;
}

/** Open, or nothing that opens. */
export function isAccessible(game: Game, state: State, receptacle: number): boolean {
  return (game.natures[receptacle]! & IS.openable) === 0 || state.receptacles[receptacle]!.opened;
}

function canTreat(
  game: Game,
  state: State,
  { object, with: receptacle }: Command,
  ability: number,
  nature: number,
): boolean {
  return (
    state.held === object &&
    (game.abilities[object]! & ability) !== 0 &&
    (game.natures[receptacle]! & nature) !== 0 &&
    isHere(game, state, receptacle)
  );
}

function withReceptacle(
  state: State,
  index: number,
  change: Partial<Pick<ReceptacleState, "objects" | "opened">>,
): ReceptacleState[] {
  const { objects, opened } = state.receptacles[index]!;
  const now = receptacleState(change.objects ?? objects, change.opened ?? opened);
  return replaced(state.receptacles, index, now);
}

function withCondition(state: State, object: number, condition: number): State {
  if (state.conditions[object] === condition) return state;
  const conditions = replaced(state.conditions, object, condition);
  const { location, held, receptacles, places, takenOut } = state;
  return new State(location, held, receptacles, conditions, places, takenOut);
}
