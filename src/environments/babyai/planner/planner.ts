/**
 * @file Solves a game for somebody who knows all of it: errand by errand, fetching keys and clearing the way.
 *
 * It plans a piece, plays it and plans again, as rooms change with every thing that is moved. The low-level
 * actions are then written as commands, each as long as possible. Short, and not always the shortest.
 */
import { acted, type Game, thingAt } from "../play/game.ts";
import { type Action, currentErrand, type Meant, openErrands } from "../play/progress.ts";
import { commandsIn, turned } from "../play/turn.ts";
import { inFront, isSamePlace, type Point, stepsApart, type Thing } from "../thing.ts";
import { type Costs, routeTo, type Stand } from "./route.ts";

/** A plan that is this long leads nowhere. */
const LONGEST = 600;

class NoPlan extends Error {}

/** Commands that win the game from here; undefined where none were found. */
export function solved(game: Game): readonly string[] | undefined {
  const run: Run = { game, actions: [], isWon: false };
  try {
    while (!run.isWon) pursue(run);
  } catch (error) {
    if (error instanceof NoPlan) return undefined;
    throw error;
  }
  return commandsFor(game, run.actions);
}

/** A game that is played while it is planned. */
interface Run {
  game: Game;
  readonly actions: Action[];
  isWon: boolean;
}

function play(run: Run, actions: readonly Action[]): void {
  for (const action of actions) {
    if (run.isWon) return;
    if (run.actions.length >= LONGEST) throw new NoPlan();
    const { game, reward } = acted(run.game, action);
    run.game = game;
    run.actions.push(action);
    run.isWon = reward > 0.5;
  }
}

/** One piece of work for the current errand. */
function pursue(run: Run): void {
  const { errand, what, beside } = currentErrand(run.game.progress);
  const { carried } = run.game;
  // A description without a kind fits walls, too.
  const isMeant = (thing: Thing | undefined): boolean =>
    !!thing && thing.kind !== "wall" && what.ids.has(thing.id);
  switch (errand.verb) {
    case "go to": {
      const before = run.actions.length;
      approach(run, (place) => what.places.some((other) => isSamePlace(place, other)));
      // Already there: any action tells.
      if (run.actions.length === before) play(run, ["left", "right"]);
      return;
    }
    case "open":
      approach(run, (place) => {
        const door = thingAt(run.game, place);
        return isMeant(door) && door!.state !== "open";
      });
      unlockAhead(run);
      return;
    case "pick up":
      if (carried) putDown(run);
      else fetch(run, isMeant);
      return;
    case "put":
      if (!carried) fetch(run, isMeant);
      else if (!isMeant(carried)) putDown(run);
      else bring(run, beside!, isMeant);
  }
}

/** Puts down what is held beside one of these. */
function bring(run: Run, beside: Meant, isMeant: (thing: Thing | undefined) => boolean): void {
  const isBeside = (place: Point): boolean =>
    beside.places.some((other) => stepsApart(place, other) === 1);
  if (!run.game.cells.some((thing, i) => !thing && isBeside(placeOf(run.game, i)))) {
    makeRoom(run, (thing, place) => isBeside(place) && !beside.ids.has(thing.id));
    return;
  }
  approach(run, (place) => !thingAt(run.game, place) && isBeside(place));
  // On the way it may have been put down for a key.
  if (isMeant(run.game.carried)) play(run, ["drop"]);
}

function placeOf({ width }: Game, index: number): Point {
  return { x: index % width, y: Math.floor(index / width) };
}

/** Carries one of these things away. */
function makeRoom(run: Run, isInTheWay: (thing: Thing, place: Point) => boolean): void {
  const index = run.game.cells.findIndex(
    (thing, i) =>
      thing &&
      thing.kind !== "wall" &&
      thing.kind !== "door" &&
      isInTheWay(thing, placeOf(run.game, i)),
  );
  if (index < 0) throw new NoPlan();
  clear(run, run.game.cells[index]!, [placeOf(run.game, index)]);
}

function fetch(run: Run, isWanted: (thing: Thing) => boolean): void {
  approach(run, (place) => {
    const thing = thingAt(run.game, place);
    return thing !== undefined && isWanted(thing);
  });
  const ahead = thingAt(run.game, inFront(run.game.agent, run.game.direction));
  if (!ahead || !isWanted(ahead)) return;
  if (run.game.carried) putDown(run);
  else play(run, ["pickup"]);
}

/** Goes until such a place is straight ahead; moves away and unlocks what is in between. */
function approach(run: Run, isGoal: (place: Point) => boolean): void {
  for (;;) {
    const route = routeTo(
      run.game,
      ({ place, direction }) => isGoal(inFront(place, direction)),
      costsIn(run.game),
    );
    if (!route) throw new NoPlan();
    play(run, route.actions);
    if (run.isWon || !route.blockedBy) return;
    const { thing } = route.blockedBy;
    if (thing.kind === "door") unlock(run, thing);
    else clear(run, thing, route.places);
  }
}

/** Doors that are still to be opened for an errand are gone through only where there is no other way. */
function costsIn(game: Game): Costs {
  const kept = new Set<number>();
  for (const { errand, what } of openErrands(game.progress))
    if (errand.verb === "open") for (const id of what.ids) kept.add(id);
  const strict = openErrands(game.progress).some(
    ({ errand }) => "strict" in errand && errand.strict,
  );
  return {
    obstacle: 25,
    locked: 60,
    door: ({ id }) => (kept.has(id) ? 80 : strict ? 80 : 1),
  };
}

/** Opens the door before the agent, with its key if it is locked. */
function unlockAhead(run: Run): void {
  const door = thingAt(run.game, inFront(run.game.agent, run.game.direction));
  if (run.isWon || door?.kind !== "door" || door.state === "open") return;
  if (door.state === "locked") unlock(run, door);
  else play(run, ["toggle"]);
}

/** Fetches the key and opens the door, whatever has to be put down for it. */
function unlock(run: Run, door: Thing): void {
  const isKey = (thing: Thing | undefined): boolean =>
    thing?.kind === "key" && thing.color === door.color;
  const stateNow = () => run.game.cells.find((thing) => thing?.id === door.id)?.state;
  while (!run.isWon && stateNow() === "locked") {
    if (run.actions.length >= LONGEST) throw new NoPlan();
    if (!isKey(run.game.carried)) {
      if (run.game.carried) putDown(run);
      fetch(run, isKey);
      continue;
    }
    approach(run, (place) => thingAt(run.game, place)?.id === door.id);
    if (isKey(run.game.carried)) play(run, ["toggle"]);
  }
}

/** Carries a thing out of the way; what is in the hand is put down first. */
function clear(run: Run, thing: Thing, way: readonly Point[]): void {
  if (run.game.carried) putDown(run, way);
  approach(run, (place) => thingAt(run.game, place)?.id === thing.id);
  if (run.isWon || run.game.carried) return;
  play(run, ["pickup"]);
  putDown(run, way);
}

/** Puts down what is held, where it is in nobody's way: not on the given way, not beside a door. */
function putDown(run: Run, way: readonly Point[] = []): void {
  const { game } = run;
  const isDoorNear = (place: Point): boolean =>
    [0, 1, 2, 3].some((side) => thingAt(game, inFront(place, side))?.kind === "door");
  const isFree = (place: Point): boolean =>
    !thingAt(game, place) && !isSamePlace(place, game.agent);
  const costs: Costs = { ...costsIn(game), obstacle: 1000, locked: 1000 };
  const wishes: readonly ((place: Point) => boolean)[] = [
    (place) => isFree(place) && !isDoorNear(place) && !way.some((on) => isSamePlace(on, place)),
    (place) => isFree(place) && !way.some((on) => isSamePlace(on, place)),
    isFree,
  ];
  for (const isWished of wishes) {
    const isWanted = ({ place, direction }: Stand) => isWished(inFront(place, direction));
    const route = routeTo(game, isWanted, costs);
    if (!route || route.blockedBy) continue;
    play(run, [...route.actions, "drop"]);
    return;
  }
  throw new NoPlan();
}

/** The low-level actions as commands. A command may stop early, but never on another way. */
function commandsFor(game: Game, actions: readonly Action[]): readonly string[] | undefined {
  const commands: string[] = [];
  let at = game;
  for (let done = 0; done < actions.length; ) {
    let longest: [command: string, length: number] = ["", 0];
    for (const [command, parts] of commandsIn(at).possible) {
      const fits = parts.every((part, i) => part === actions[done + i]);
      if (fits && parts.length > longest[1]) longest = [command, parts.length];
    }
    if (longest[1] === 0) return undefined;
    const turn = turned(at, longest[0]);
    commands.push(longest[0]);
    done += turn.actions;
    at = turn.game;
    if (turn.isOver) return commands;
  }
  return undefined;
}
