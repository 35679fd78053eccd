/**
 * @file Every command that is possible now, sorted.
 *
 * The groups below are in the order of their first words ("clean" before "close" before "cool" …), so
 * only the members of a group need an order, and that follows from the order of names, which is known:
 * no text is compared. (One name that begins another, "x 1" and "x 10", is followed by a space, which
 * comes before every digit.)
 *
 * What is possible depends on the receptacles within reach and on what is held; states share what did
 * not change, so the list of an earlier visit is often still right, and is given again.
 */
import { CAN, type Game, IS } from "./game.ts";
import { isAccessible } from "./rules.ts";
import type { ReceptacleState, State } from "./state.ts";

const ALWAYS = ["help", "inventory", "look"] as const;

/** Do not change the list: it may be given again. */
export function admissibleCommands(game: Game, state: State): readonly string[] {
  const first = game.receptaclesAt[state.location]![0];
  // In the middle of the room there is no place to keep a list, and little to list.
  if (first === undefined) return listCommands(game, state);
  const keeper = state.receptacles[first]!;
  const known = state.held < 0 ? keeper.commandsEmptyHanded : keeper.commandsHolding;
  if (known && isStillRight(game, state, known)) return known.commands;
  const visit: Visit = {
    held: state.held,
    lying: state.places[state.location]!,
    others: game.receptaclesAt[state.location]!.map((index) => state.receptacles[index]!),
    commands: listCommands(game, state),
  };
  if (state.held < 0) keeper.commandsEmptyHanded = visit;
  else keeper.commandsHolding = visit;
  return visit.commands;
}

/** What a list of commands depended on. */
export interface Visit {
  readonly held: number;
  readonly lying: readonly number[];
  /** All receptacles within reach. */
  readonly others: readonly ReceptacleState[];
  readonly commands: readonly string[];
}

function isStillRight(game: Game, state: State, visit: Visit): boolean {
  // What lies here matters to those who could cut it.
  if (visit.held !== state.held) return false;
  if (state.held >= 0 && visit.lying !== state.places[state.location]) return false;
  const here = game.receptaclesAt[state.location]!;
  for (let i = 1; i < here.length; i++)
    if (visit.others[i] !== state.receptacles[here[i]!]) return false;
  return true;
}

function listCommands(game: Game, state: State): readonly string[] {
  const { location, held } = state;
  const here = game.receptaclesByName[location]!;
  const before: string[] = [];
  const after: string[] = [];
  if (held >= 0) treat(game, held, here, before, "clean", CAN.beCleaned, IS.sink);
  turn(game, state, here, before, true);
  if (held >= 0) treat(game, held, here, before, "cool", CAN.beCooled, IS.fridge);
  examine(game, held, here, before);
  if (held >= 0) {
    treat(game, held, here, after, "heat", CAN.beHeated, IS.microwave);
  }
  after.push(...ALWAYS);
  if (held >= 0) move(game, state, here, after);
  turn(game, state, here, after, false);
  if (held >= 0) slice(game, state, after);
  else take(game, state, after);
  use(game, state, after);
  return Object.freeze(before.concat(game.goToCommands[location]!, after));
}

function treat(
  game: Game,
  held: number,
  here: readonly number[],
  commands: string[],
  verb: string,
  ability: number,
  nature: number,
): void {
  if ((game.abilities[held]! & ability) === 0) return;
  for (const receptacle of here)
    if ((game.natures[receptacle]! & nature) !== 0)
      commands.push(`${verb} ${game.objectNames[held]} with ${game.receptacleNames[receptacle]}`);
}

/** `close` what is open, or `open` what is closed. */
function turn(
  game: Game,
  state: State,
  here: readonly number[],
  commands: string[],
  opened: boolean,
): void {
  const texts = opened ? game.closeCommands : game.openCommands;
  for (const receptacle of here)
    if (
      (game.natures[receptacle]! & IS.openable) !== 0 &&
      state.receptacles[receptacle]!.opened === opened
    )
      commands.push(texts[receptacle]!);
}

function move(game: Game, state: State, here: readonly number[], commands: string[]): void {
  for (const receptacle of here)
    if (
      game.mayHold[receptacle * game.objectIds.length + state.held] === 1 &&
      isAccessible(game, state, receptacle)
    )
      commands.push(`move ${game.objectNames[state.held]} to ${game.receptacleNames[receptacle]}`);
}

function examine(game: Game, held: number, here: readonly number[], commands: string[]): void {
  const name = held < 0 ? undefined : game.objectNames[held]!;
  let listed = name === undefined;
  for (const receptacle of here) {
    if (!listed && name! < game.receptacleNames[receptacle]!) {
      commands.push(`examine ${name}`);
      listed = true;
    }
    commands.push(game.examineCommands[receptacle]!);
  }
  if (!listed) commands.push(`examine ${name}`);
}

function slice(game: Game, { held, location, places }: State, commands: string[]): void {
  if ((game.abilities[held]! & CAN.slice) === 0) return;
  const objects = places[location]!.filter(
    (object) => (game.abilities[object]! & CAN.beSliced) !== 0,
  );
  for (const object of byRank(game, objects))
    commands.push(`slice ${game.objectNames[object]} with ${game.objectNames[held]}`);
}

function take(game: Game, state: State, commands: string[]): void {
  /** Pairs of object and receptacle in the order of their names, as one number each. */
  const pairs: number[] = [];
  const count = game.receptacleIds.length;
  for (const receptacle of game.receptaclesAt[state.location]!) {
    if (!isAccessible(game, state, receptacle)) continue;
    for (const object of state.receptacles[receptacle]!.objects)
      if ((game.abilities[object]! & CAN.beTaken) !== 0)
        insert(pairs, game.objectRanks[object]! * count + game.receptacleRanks[receptacle]!);
  }
  for (const pair of pairs) {
    const place = game.receptaclesInOrder[pair % count]!;
    const thing = game.objectsInOrder[Math.floor(pair / count)]!;
    commands.push(`take ${thing} from ${place}`);
  }
}

function use(game: Game, state: State, commands: string[]): void {
  const lamps: number[] = [];
  for (const receptacle of game.receptaclesAt[state.location]!)
    for (const object of state.receptacles[receptacle]!.objects)
      if ((game.abilities[object]! & CAN.beSwitched) !== 0 && !lamps.includes(object))
        lamps.push(object);
  for (const object of byRank(game, lamps)) commands.push(`use ${game.objectNames[object]}`);
}

function byRank(game: Game, objects: number[]): number[] {
  if (objects.length < 2) return objects;
  return objects.sort((a, b) => game.objectRanks[a]! - game.objectRanks[b]!);
}

/** Puts a number into its place in a short sorted list. */
function insert(numbers: number[], number: number): void {
  let place = numbers.length;
  while (place > 0 && numbers[place - 1]! > number) {
    numbers[place] = numbers[place - 1]!;
    place--;
  }
  numbers[place] = number;
}
