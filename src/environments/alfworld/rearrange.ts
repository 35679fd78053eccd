/**
 * @file Another room from a game's own: furniture fewer or more of a kind, or called otherwise, things in other places,
 * everything numbered anew. An agent that learns in many rooms made so cannot know one by heart.
 *
 * The task stays what it was, and can be done: what it needs stays, what is wanted does not begin where it should end,
 * and things go only where the game says that such things can be (lamps, of which it says nothing: onto anything).
 */
import type { Random } from "../random.ts";
import type { Expression } from "./pddl/expression.ts";
import type { Fact, Problem } from "./pddl/problem.ts";

/** The share of things that are put elsewhere. */
const MOVED = 0.5;
/** The share of kinds of furniture of which nothing is left. */
const GONE = 0.25;
const TRIES = 10;
/** What some tasks cannot be done without. */
const APPLIANCES = new Set(["sinktype", "sinkbasintype", "microwavetype", "fridgetype"]);

/** What furniture is called in made rooms. */
export interface Renaming {
  /** The share of kinds that are called otherwise. */
  readonly share: number;
  /** Groups of kinds of which one could as well be another. */
  readonly alike: readonly (readonly string[])[];
}

export function rearranged(problem: Problem, random: Random, renaming?: Renaming): Problem {
  const room = new Room(problem);
  const { gone, copies, moves } = otherRoom(room, random);
  const lost = new Set([...gone, ...moves.lost]);
  const facts = problem.facts.flatMap((fact): Fact[] => {
    const [predicate, first, second] = fact;
    if (lost.has(first!) || (predicate === "inreceptacle" && moves.home.has(first!))) return [];
    if (predicate === "inreceptacle" && lost.has(second!)) return [];
    if (predicate === "objectatlocation" && moves.home.has(first!)) return [];
    return [fact];
  });
  const added = [...copies].flatMap(([copy, original]) => room.factsOfCopy(copy, original));
  const kinds = new Map([...problem.kinds].filter(([id]) => !lost.has(id)));
  for (const [, id, place] of added.filter(([predicate]) => predicate === "receptacleatlocation"))
    kinds.set(id!, "receptacle").set(place!, "location");
  const location = new Map(
    [...facts, ...added].flatMap(([predicate, id, place]) =>
      predicate === "receptacleatlocation" ? [[id!, place!]] : [],
    ),
  );
  for (const [thing, home] of moves.home)
    added.push(["inreceptacle", thing, home], ["objectatlocation", thing, location.get(home)!]);
  const names = renaming ? otherNames(room, gone, random, renaming) : new Map();
  return renumbered({ kinds, facts: [...facts, ...added], goal: problem.goal }, names, random);
}

/** What the facts say of the furniture and of the things in it. */
class Room {
  readonly typeOf = new Map<string, string>();
  readonly locationOf = new Map<string, string>();
  readonly homeOf = new Map<string, string>();
  readonly movable = new Set<string>();
  /** Furniture that must stay. */
  readonly fixed = new Set<string>();
  readonly #facts: readonly Fact[];
  readonly #holds = new Set<string>();
  readonly #openable = new Set<string>();
  readonly #lamps = new Set<string>();
  readonly #wanted: ReadonlySet<string>;

  constructor({ facts, goal }: Problem) {
    this.#facts = facts;
    this.#wanted = new Set(wordsOf(goal));
    const about = (predicate: string) => facts.filter(([name]) => name === predicate);
    for (const name of ["receptacletype", "objecttype"])
      for (const [, id, type] of about(name)) this.typeOf.set(id!, type!);
    for (const [, id, place] of about("receptacleatlocation")) this.locationOf.set(id!, place!);
    for (const [, holder, held] of about("cancontain")) this.#holds.add(`${holder} ${held}`);
    for (const [, id] of about("openable")) this.#openable.add(id!);
    for (const [, id] of about("toggleable")) this.#lamps.add(id!);
    for (const [, id] of [...about("pickupable"), ...about("toggleable")]) this.movable.add(id!);
    // A thing with another one in it stays, and so does what is in two pieces of furniture at once.
    for (const [, inner, outer] of about("inreceptacleobject"))
      for (const id of [inner!, outer!]) this.movable.delete(id);
    for (const [, thing, home] of about("inreceptacle")) {
      if (this.homeOf.has(thing!)) this.movable.delete(thing!);
      this.homeOf.set(thing!, home!);
    }
    for (const [, thing, home] of about("inreceptacle"))
      if (!this.movable.has(thing!)) this.fixed.add(home!);
    for (const id of this.furniture) if (APPLIANCES.has(this.typeOf.get(id)!)) this.fixed.add(id);
  }

  get furniture(): string[] {
    return [...this.locationOf.keys()];
  }

  mayBegin(thing: string, home: string): boolean {
    if (this.#lamps.has(thing)) return !this.#openable.has(home);
    const [held, holder] = [this.typeOf.get(thing)!, this.typeOf.get(home)!];
    const isEnd = this.isWanted(thing) && this.#wanted.has(holder);
    return this.#holds.has(`${holder} ${held}`) && !isEnd;
  }

  /** Whether the task is about a thing, or furniture, of this kind. */
  isWanted(thing: string): boolean {
    return this.#wanted.has(this.typeOf.get(thing)!);
  }

  /** Whether the task asks for furniture of this name. */
  isNamed(name: string): boolean {
    return this.#wanted.has(`${name}type`);
  }

  /** A piece of furniture like another, empty, at a place of its own. */
  factsOfCopy(copy: string, original: string): Fact[] {
    const own = this.#facts.filter(
      ([name, id]) => id === original && name !== "receptacleatlocation",
    );
    return [
      ...own.map(([name, , ...others]): Fact => [name, copy, ...others]),
      ["receptacleatlocation", copy, `loc_bar_${copy}`],
    ];
  }
}

/** Tried again while there is no place for something that is wanted. */
function otherRoom(room: Room, random: Random) {
  for (let i = 0; i < TRIES; i++) {
    const { gone, copies } = otherFurniture(room, random);
    const moves = moveThings(room, gone, random);
    if (![...moves.lost].some((thing) => room.isWanted(thing))) return { gone, copies, moves };
  }
  const nothing = new Set<string>();
  return {
    gone: nothing,
    copies: new Map<string, string>(),
    moves: moveThings(room, nothing, random),
  };
}

/** Some kinds of furniture go, of others there are fewer or more. */
function otherFurniture(room: Room, random: Random) {
  const gone = new Set<string>();
  const copies = new Map<string, string>();
  for (const type of new Set(room.furniture.map((id) => room.typeOf.get(id)!))) {
    const all = room.furniture.filter((id) => room.typeOf.get(id) === type);
    const free = all.filter((id) => !room.fixed.has(id));
    if (!room.isWanted(all[0]!) && random.chance(GONE)) {
      for (const id of free) gone.add(id);
      continue;
    }
    const count = random.integer(Math.floor(all.length / 2) + 1);
    if (random.chance(0.5)) for (const id of random.shuffled(free).slice(0, count)) gone.add(id);
    else for (let i = 0; i < count; i++) copies.set(`${all[0]}_copy_${i}`, all[0]!);
  }
  return { gone, copies };
}

/** Where things are now that are not where they were, and which are no longer there. */
function moveThings(room: Room, gone: ReadonlySet<string>, random: Random) {
  const home = new Map<string, string>();
  const lost = new Set<string>();
  const left = room.furniture.filter((id) => !gone.has(id));
  for (const [thing, before] of room.homeOf) {
    const mustGo = gone.has(before);
    if (!room.movable.has(thing) || !(mustGo || random.chance(MOVED))) continue;
    const possible = left.filter((id) => room.mayBegin(thing, id));
    if (possible.length > 0) {
      // First the kind of place, so that twenty of one kind do not swallow everything.
      const type = random.pick([...new Set(possible.map((id) => room.typeOf.get(id)!))]);
      home.set(thing, random.pick(possible.filter((id) => room.typeOf.get(id) === type)));
    } else if (mustGo) lost.add(thing);
  }
  return { home, lost };
}

/**
 * What kinds of furniture are called from now on: like furniture that is not here, nor in the task. Only their names
 * change: what can be put there is what could be before.
 */
function otherNames(
  room: Room,
  gone: ReadonlySet<string>,
  random: Random,
  { share, alike: groups }: Renaming,
): ReadonlyMap<string, string> {
  const left = room.furniture.filter((id) => !gone.has(id));
  const taken = new Set(left.map(nameOf));
  const names = new Map<string, string>();
  for (const id of left) {
    const name = nameOf(id);
    const alike = groups.find((some) => some.includes(name));
    if (names.has(name) || !alike || room.isWanted(id)) continue;
    const free = alike.filter((one) => !taken.has(one) && !room.isNamed(one));
    const isRenamed = free.length > 0 && random.chance(share);
    const other = isRenamed ? random.pick(free) : name;
    names.set(name, other);
    taken.add(other);
  }
  return names;
}

/** New ids: names count in the order of ids, and lists follow it. */
function renumbered(
  { kinds, facts, goal }: Problem,
  called: ReadonlyMap<string, string>,
  random: Random,
): Problem {
  const ids = [...kinds].filter(([, kind]) => kind === "object" || kind === "receptacle");
  const order = random.shuffled(ids.map((_, i) => `${i}`.padStart(4, "0")));
  const names = new Map(ids.map(([id], i) => [id, newId(id, order[i]!, called)]));
  const named = (id: string): string => names.get(id) ?? id;
  const inGoal = (part: Expression): Expression =>
    typeof part === "string" ? named(part) : part.map(inGoal);
  return {
    kinds: new Map([...kinds].map(([id, kind]) => [named(id), kind])),
    facts: facts.map(([name, ...about]): Fact => [name, ...about.map(named)]),
    goal: inGoal(goal),
  };
}

/** Keeps what the name is made of: the class before "_bar_", unless it is called otherwise, and whether it is a basin. */
function newId(id: string, number: string, called: ReadonlyMap<string, string>): string {
  const name = nameOf(id);
  return `${called.get(name) ?? name}_bar_${number}${id.includes("basin") ? "_bar_basin" : ""}`;
}

function nameOf(id: string): string {
  const end = id.indexOf("_bar_");
  return end < 0 ? id : id.slice(0, end);
}

function wordsOf(part: Expression): string[] {
  return typeof part === "string" ? [part] : part.flatMap(wordsOf);
}
