/**
 * @file A game, compiled: everything that stays the same while it is played, in numbers and ready
 * texts. Objects, receptacles and locations are indices in the order of their ids, which is the
 * order in which the texts list them.
 */
import { GameError } from "../errors.ts";
import { compileGoal, type Goal } from "../pddl/goal.ts";
import { type Fact, PREDICATES, type Problem } from "../pddl/problem.ts";
import { byCodePoint, detached, displayNames, listed } from "./names.ts";
import { receptacleState, State } from "./state.ts";

/** What can be done with an object, as bits. */
export const CAN = {
  beTaken: 1,
  beCleaned: 2,
  beHeated: 4,
  beCooled: 8,
  beSwitched: 16,
  beSliced: 32,
  slice: 64,
  holdThings: 128,
} as const;

/** What a receptacle is, as bits. */
export const IS = { openable: 1, sink: 2, microwave: 4, fridge: 8 } as const;

/** What has become of an object, as bits. */
export const HAS_BEEN = {
  cleaned: 1,
  heated: 2,
  cooled: 4,
  switched: 8,
  sliced: 16,
  lit: 32,
} as const;

export interface Game {
  /** "put a clean … in ….", what follows "Your task is to: ". */
  readonly task: string;
  /** The text of the first observation. */
  readonly intro: string;
  /** The text of `help`. */
  readonly help: string;
  readonly objectIds: readonly string[];
  readonly objectNames: readonly string[];
  /** The names in order, and the place of each object in that order. */
  readonly objectsInOrder: readonly string[];
  readonly objectRanks: readonly number[];
  /** Bits of CAN for each object. */
  readonly abilities: readonly number[];
  /** For each object what lies inside it: the objects' names as a list. */
  readonly insides: readonly string[];
  readonly receptacleIds: readonly string[];
  readonly receptacleNames: readonly string[];
  /** Bits of IS for each receptacle. */
  readonly natures: readonly number[];
  /** The location of each receptacle, or −1. */
  readonly locations: readonly number[];
  /** 1 at [receptacle · objects + object] where the receptacle may hold the object. */
  readonly mayHold: Uint8Array;
  readonly receptaclesInOrder: readonly string[];
  readonly receptacleRanks: readonly number[];
  /** The receptacles at each location, by index. The last location is where the agent starts. */
  readonly receptaclesAt: readonly (readonly number[])[];
  /** The same, sorted by name. */
  readonly receptaclesByName: readonly (readonly number[])[];
  /** At each location the commands that lead elsewhere, sorted. */
  readonly goToCommands: readonly (readonly string[])[];
  /** For each receptacle. */
  readonly examineCommands: readonly string[];
  readonly openCommands: readonly string[];
  readonly closeCommands: readonly string[];
  readonly objectByName: ReadonlyMap<string, number>;
  readonly receptacleByName: ReadonlyMap<string, number>;
  /** No command is longer. */
  readonly longestCommand: number;
  readonly start: State;
  readonly goal: Goal;
}

/** Limits far above real games (73 objects, 54 receptacles), so that no file can exhaust memory. */
const MOST_THINGS = 4096;

export interface GameTexts {
  readonly task: string;
  readonly help: string;
}

export function compileGame(problem: Problem, texts: GameTexts): Game {
  const facts = factsByPredicate(problem.facts);
  const about = (predicate: string): readonly Fact[] => facts.get(predicate) ?? [];
  const { objectIds, receptacleIds } = mentionedIds(problem);
  if (objectIds.length > MOST_THINGS || receptacleIds.length > MOST_THINGS)
    throw new GameError(
      `it has ${objectIds.length} objects and ${receptacleIds.length} receptacles; at most ${MOST_THINGS} of each are played.`,
    );
  const object = indexOf(objectIds);
  const receptacle = indexOf(receptacleIds);
  // A class counts all its members, whatever they are: ids of other kinds have classes of their own.
  const names = displayNames([...objectIds, ...receptacleIds]);
  const objectNames = objectIds.map((id) => names.get(id)!);
  const receptacleNames = receptacleIds.map((id) => names.get(id)!);
  const objectsInOrder = [...objectNames].sort(byCodePoint);
  const receptaclesInOrder = [...receptacleNames].sort(byCodePoint);

  const startId = detached(theOnly(about("atlocation"), "the agent must be at one place")[2]!);
  const locationIds = [...new Set(about("receptacleatlocation").map((fact) => fact[2]!))]
    .map(detached)
    .sort(byCodePoint);
  const startsAtReceptacle = locationIds.includes(startId);
  if (!startsAtReceptacle) locationIds.push(startId);
  const location = indexOf(locationIds);

  const locations = receptacleIds.map(() => -1);
  for (const [, id, place] of about("receptacleatlocation")) {
    const index = receptacle.get(id!)!;
    if (locations[index] !== -1) throw new GameError(`${id} is at more than one location.`);
    locations[index] = location.get(place!)!;
  }
  const receptaclesAt = locationIds.map((_, place) =>
    receptacleIds.map((_, index) => index).filter((index) => locations[index] === place),
  );
  const byName = (a: number, b: number): number =>
    byCodePoint(receptacleNames[a]!, receptacleNames[b]!);
  const goTo = receptacleIds
    .map((_, index) => index)
    .filter((index) => locations[index]! >= 0)
    .sort(byName)
    .map((index) => ({ place: locations[index], command: `go to ${receptacleNames[index]}` }));

  const game = {
    task: texts.task,
    help: texts.help,
    objectIds,
    objectNames,
    objectsInOrder,
    objectRanks: ranksIn(objectsInOrder, objectNames),
    abilities: abilitiesOf(objectIds, about),
    insides: insidesOf(objectIds, names, about),
    receptacleIds,
    receptacleNames,
    natures: naturesOf(receptacleIds, about),
    locations,
    mayHold: mayHoldOf(object, receptacle, about),
    receptaclesInOrder,
    receptacleRanks: ranksIn(receptaclesInOrder, receptacleNames),
    receptaclesAt,
    receptaclesByName: receptaclesAt.map((here) => [...here].sort(byName)),
    goToCommands: locationIds.map((_, here) =>
      goTo.filter(({ place }) => place !== here).map(({ command }) => command),
    ),
    examineCommands: receptacleNames.map((name) => `examine ${name}`),
    openCommands: receptacleNames.map((name) => `open ${name}`),
    closeCommands: receptacleNames.map((name) => `close ${name}`),
    objectByName: indexOf(objectNames),
    receptacleByName: indexOf(receptacleNames),
    longestCommand: 40 + 2 * Math.max(...[...names.values()].map((name) => name.length)),
    start: startOf({ about, object, location, startId, objectIds, receptacleIds }),
    goal: compileGoal(problem, { object, receptacle, location }),
  };
  const seen = startsAtReceptacle
    ? undefined
    : listed(
        receptacleNames.filter((_, index) => locations[index]! >= 0).map((name) => `a ${name}`),
      );
  return { ...game, intro: introOf(game, seen) };
}

function introOf(game: Omit<Game, "intro">, seen: string | undefined): string {
  const here = game.receptaclesAt[game.start.location]!.map(
    (index) => game.receptacleNames[index]!,
  );
  const view =
    seen === undefined
      ? `You are facing the ${listed(here)}. Next to it, you see nothing.`
      : `You are in the middle of a room. Looking quickly around you, you see ${seen}.`;
  return `-= Welcome to TextWorld, ALFRED! =-\n\n${view}\n\nYour task is to: ${game.task}`;
}

/** The ids that occur in facts, sorted: only those take part in the game. */
function mentionedIds({ facts }: Problem): Record<"objectIds" | "receptacleIds", string[]> {
  const objects = new Set<string>();
  const receptacles = new Set<string>();
  for (const fact of facts) {
    const expected = PREDICATES[fact[0]]!;
    for (let i = 0; i < expected.length; i++) {
      if (expected[i] === "object") objects.add(fact[i + 1]!);
      else if (expected[i] === "receptacle") receptacles.add(fact[i + 1]!);
    }
  }
  return {
    objectIds: [...objects].map(detached).sort(byCodePoint),
    receptacleIds: [...receptacles].map(detached).sort(byCodePoint),
  };
}

function insidesOf(
  objectIds: readonly string[],
  names: ReadonlyMap<string, string>,
  about: About,
): string[] {
  const inside = groupedBy(about("inreceptacleobject"), 2, 1);
  return objectIds.map((id) =>
    listed((inside.get(id) ?? []).sort(byCodePoint).map((inner) => `a ${names.get(inner)}`)),
  );
}

type About = (predicate: string) => readonly Fact[];

function abilitiesOf(objectIds: readonly string[], about: About): number[] {
  const holders = (predicate: string): Set<string> =>
    new Set(about(predicate).map((fact) => fact[1]!));
  const knives = about("objecttype")
    .filter(([, , type]) => type === "knifetype" || type === "butterknifetype")
    .map((fact) => fact[1]!);
  const groups: [number, Set<string>][] = [
    [CAN.beTaken, holders("pickupable")],
    [CAN.beCleaned, holders("cleanable")],
    [CAN.beHeated, holders("heatable")],
    [CAN.beCooled, holders("coolable")],
    [CAN.beSwitched, holders("toggleable")],
    [CAN.beSliced, holders("sliceable")],
    [CAN.slice, new Set(knives)],
    [CAN.holdThings, holders("isreceptacleobject")],
  ];
  return objectIds.map((id) =>
    groups.reduce((bits, [bit, set]) => bits | (set.has(id) ? bit : 0), 0),
  );
}

const NATURE_OF_TYPE: Readonly<Record<string, number>> = {
  sinktype: IS.sink,
  sinkbasintype: IS.sink,
  microwavetype: IS.microwave,
  fridgetype: IS.fridge,
};

function naturesOf(receptacleIds: readonly string[], about: About): number[] {
  const natures = new Map<string, number>();
  const add = (id: string, bit: number): void => {
    natures.set(id, (natures.get(id) ?? 0) | bit);
  };
  for (const [, id] of about("openable")) add(id!, IS.openable);
  for (const [, id, type] of about("receptacletype"))
    if (Object.hasOwn(NATURE_OF_TYPE, type!)) add(id!, NATURE_OF_TYPE[type!]!);
  return receptacleIds.map((id) => natures.get(id) ?? 0);
}

function mayHoldOf(
  object: ReadonlyMap<string, number>,
  receptacle: ReadonlyMap<string, number>,
  about: About,
): Uint8Array {
  const holdable = groupedBy(about("cancontain"), 1, 2);
  const objectsOfType = new Map<string, number[]>();
  for (const [, id, type] of about("objecttype")) {
    const group = objectsOfType.get(type!);
    if (group) group.push(object.get(id!)!);
    else objectsOfType.set(type!, [object.get(id!)!]);
  }
  const rows = new Map<string, number[]>();
  const mayHold = new Uint8Array(object.size * receptacle.size);
  for (const [, id, type] of about("receptacletype")) {
    let row = rows.get(type!);
    if (!row) {
      row = (holdable.get(type!) ?? []).flatMap((held) => objectsOfType.get(held) ?? []);
      rows.set(type!, row);
    }
    const first = receptacle.get(id!)! * object.size;
    for (const held of row) mayHold[first + held] = 1;
  }
  return mayHold;
}

interface StartParts {
  readonly about: About;
  readonly object: ReadonlyMap<string, number>;
  readonly location: ReadonlyMap<string, number>;
  readonly startId: string;
  readonly objectIds: readonly string[];
  readonly receptacleIds: readonly string[];
}

function startOf(parts: StartParts): State {
  const { about, object, location, objectIds, receptacleIds } = parts;
  const contents = groupedBy(about("inreceptacle"), 2, 1);
  const opened = new Set(about("opened").map((fact) => fact[1]!));
  const receptacles = receptacleIds.map((id) =>
    receptacleState(sortedIndices(contents.get(id), object), opened.has(id)),
  );
  const lying = groupedBy(about("objectatlocation"), 2, 1);
  const places = [...location.keys()].map((id) => sortedIndices(lying.get(id), object));
  const conditions = objectIds.map(() => 0);
  for (const [predicate, bit] of Object.entries(CONDITION_BITS))
    for (const [, id] of about(predicate)) conditions[object.get(id!)!]! |= bit;
  const holds = about("holds");
  if (holds.length > 1) throw new GameError("the agent holds more than one object.");
  const held = holds[0] ? object.get(holds[0][2]!)! : -1;
  return new State(location.get(parts.startId)!, held, receptacles, conditions, places, []);
}

/** The predicates about objects that actions change. */
export const CONDITION_BITS: Readonly<Record<string, number>> = {
  isclean: HAS_BEEN.cleaned,
  ishot: HAS_BEEN.heated,
  iscool: HAS_BEEN.cooled,
  istoggled: HAS_BEEN.switched,
  issliced: HAS_BEEN.sliced,
  ison: HAS_BEEN.lit,
};

function factsByPredicate(facts: readonly Fact[]): Map<string, Fact[]> {
  const groups = new Map<string, Fact[]>();
  for (const fact of facts) {
    const group = groups.get(fact[0]);
    if (group) group.push(fact);
    else groups.set(fact[0], [fact]);
  }
  return groups;
}

/** The ids at position `value` of the facts, by the id at position `key`. */
function groupedBy(facts: readonly Fact[], key: 1 | 2, value: 1 | 2): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const fact of facts) {
    const group = groups.get(fact[key]!);
    if (group) group.push(fact[value]!);
    else groups.set(fact[key]!, [fact[value]!]);
  }
  return groups;
}

/** Each index once, in order. */
function sortedIndices(
  ids: readonly string[] | undefined,
  index: ReadonlyMap<string, number>,
): number[] {
  const indices = new Set((ids ?? []).map((id) => index.get(id)!));
  return [...indices].sort((a, b) => a - b);
}

function ranksIn(order: readonly string[], names: readonly string[]): number[] {
  const place = indexOf(order);
  return names.map((name) => place.get(name)!);
}

function indexOf(names: readonly string[]): Map<string, number> {
  return new Map(names.map((name, index) => [name, index]));
}

function theOnly(facts: readonly Fact[], rule: string): Fact {
  if (facts.length !== 1) throw new GameError(`${rule}; its facts name ${facts.length}.`);
  return facts[0]!;
}
