/**
 * @file Every command that is possible now, sorted.
 *
 * The groups below are in the order of their first words ("clean" before "close" before "cool" …), so
 * only the members of a group need sorting, and most groups are lists that are ready.
 */
import { CAN, type Game, IS } from "./game.ts";
import { byCodePoint } from "./names.ts";
import { isAccessible } from "./rules.ts";
import type { State } from "./state.ts";

const ALWAYS = ["help", "inventory", "look"] as const;

export function admissibleCommands(game: Game, state: State): readonly string[] {
  const { location, held } = state;
  const here = game.receptaclesByName[location]!;
  const commands: string[] = [];
  const treat = (verb: string, ability: number, nature: number): void => {
    if (held < 0 || (game.abilities[held]! & ability) === 0) return;
    for (const receptacle of here)
      if ((game.natures[receptacle]! & nature) !== 0)
        commands.push(`${verb} ${game.objectNames[held]} with ${game.receptacleNames[receptacle]}`);
  };
  const turn = (verb: string, opened: boolean): void => {
    for (const receptacle of here)
      if (
        (game.natures[receptacle]! & IS.openable) !== 0 &&
        state.receptacles[receptacle]!.opened === opened
      )
        commands.push(`${verb} ${game.receptacleNames[receptacle]}`);
  };

  treat("clean", CAN.beCleaned, IS.sink);
  turn("close", true);
  treat("cool", CAN.beCooled, IS.fridge);
  const first = commands.length;
  for (const receptacle of here) commands.push(`examine ${game.receptacleNames[receptacle]}`);
  if (held >= 0) {
    commands.push(`examine ${game.objectNames[held]}`);
    sortFrom(commands, first);
  }
  for (const command of game.goToCommands[location]!) commands.push(command);
  treat("heat", CAN.beHeated, IS.microwave);
  commands.push(...ALWAYS);
  if (held >= 0)
    for (const receptacle of here)
      if (
        game.mayHold[receptacle * game.objectIds.length + held] === 1 &&
        isAccessible(game, state, receptacle)
      )
        commands.push(`move ${game.objectNames[held]} to ${game.receptacleNames[receptacle]}`);
  turn("open", false);
  slice(game, state, commands);
  take(game, state, commands);
  use(game, state, commands);
  return commands;
}

function slice(game: Game, { held, location, places }: State, commands: string[]): void {
  if (held < 0 || (game.abilities[held]! & CAN.slice) === 0) return;
  const first = commands.length;
  for (const object of places[location]!)
    if ((game.abilities[object]! & CAN.beSliced) !== 0)
      commands.push(`slice ${game.objectNames[object]} with ${game.objectNames[held]}`);
  sortFrom(commands, first);
}

function take(game: Game, state: State, commands: string[]): void {
  if (state.held >= 0) return;
  const first = commands.length;
  let groups = 0;
  for (const receptacle of game.receptaclesAt[state.location]!) {
    if (!isAccessible(game, state, receptacle)) continue;
    const ready = takeCommands(game, state, receptacle);
    if (ready.length > 0) groups++;
    for (const command of ready) commands.push(command);
  }
  if (groups > 1) sortFrom(commands, first);
}

function takeCommands(game: Game, state: State, receptacle: number): readonly string[] {
  const now = state.receptacles[receptacle]!;
  now.takeCommands ??= now.objects
    .filter((object) => (game.abilities[object]! & CAN.beTaken) !== 0)
    .map((object) => `take ${game.objectNames[object]} from ${game.receptacleNames[receptacle]}`)
    .sort(byCodePoint);
  return now.takeCommands;
}

function use(game: Game, state: State, commands: string[]): void {
  const first = commands.length;
  for (const receptacle of game.receptaclesAt[state.location]!)
    for (const object of state.receptacles[receptacle]!.objects) {
      if ((game.abilities[object]! & CAN.beSwitched) === 0) continue;
      const command = `use ${game.objectNames[object]}`;
      if (commands.indexOf(command, first) < 0) commands.push(command);
    }
  if (commands.length > first + 1) sortFrom(commands, first);
}

/** Sorts the end of the list in place. */
function sortFrom(commands: string[], first: number): void {
  if (commands.length < first + 2) return;
  for (const command of commands.splice(first).sort(byCodePoint)) commands.push(command);
}
