/**
 * @file Makes a household game: a room, a task that can be done in it, and things in their places.
 *
 * The result has the form of the original's games (the same facts and goals), so that the same engine
 * plays it. It is solvable by construction: what the task needs is there, and nothing can get lost.
 */
import { type Random, seededRandom } from "../../random.ts";
import type { TaskType } from "../files/tasks.ts";
import type { Difficulty } from "./difficulty.ts";
import { isUnseen, layoutOf, type Room, roomOf } from "./room.ts";
import {
  LAMP_HOMES,
  LAMPS,
  OBJECT_GROUPS,
  type ObjectGroup,
  type ReceptacleName,
} from "./vocabulary.ts";

/** What names a game: the same parameters make the same game everywhere. */
export interface Parameters {
  readonly seed: number;
  readonly split: "train" | "valid_seen" | "valid_unseen";
  readonly index: number;
  readonly types: readonly TaskType[];
  readonly difficulty: Difficulty;
}

/** What the task is about. */
export interface Wanted {
  readonly type: TaskType;
  readonly object: string;
  /** The receptacle's class, or the lamp's. */
  readonly target: string;
}

/** Where things are: for every object its class and the number of its furniture. */
export interface Household {
  readonly room: Room;
  readonly wanted: Wanted;
  readonly objects: readonly { readonly name: string; readonly at: number }[];
}

/** Training and its seen validation share this many rooms; the unseen ones are as many others. */
const ROOMS = 500;

export function generate(parameters: Parameters): Household {
  const { seed, split, index, difficulty } = parameters;
  const unseen = split === "valid_unseen";
  const random = seededRandom("household", seed, split, index);
  const type = random.pick(parameters.types);
  for (;;) {
    const room = roomOf(seed, random.integer(ROOMS), unseen, difficulty);
    const wanted = chooseTask(room, type, unseen, random);
    // Not every room is fit for every kind of task.
    if (wanted) return { room, wanted, objects: furnish(room, wanted, difficulty, random) };
  }
}

/** Equal for games that differ only in how their things are numbered and their task is worded. */
export function contentOf({ room, wanted, objects }: Household): string {
  const things = objects.map(({ name, at }) => `${name}@${at}`).sort();
  return [layoutOf(room), wanted.type, wanted.object, wanted.target, ...things].join(" ");
}

function chooseTask(
  room: Room,
  type: TaskType,
  unseen: boolean,
  random: Random,
): Wanted | undefined {
  const present = new Set<string>(room.furniture.map(({ name }) => name));
  const needs = NEEDS[type];
  if (needs && !present.has(needs.appliance)) return undefined;
  const options = groupsIn(room)
    .filter((group) => !needs || group[needs.ability])
    .flatMap((group) =>
      group.names.flatMap((object) =>
        targetsOf(type, group, present).map((target): Wanted => ({ type, object, target })),
      ),
    )
    .filter((wanted) => isKeptFromTraining(wanted) === unseen);
  return options.length > 0 ? random.pick(options) : undefined;
}

/** There are only so many combinations, and each game asks about hundreds. */
const kept = new Map<string, boolean>();

function isKeptFromTraining({ type, object, target }: Wanted): boolean {
  const key = `${type} ${object} ${target}`;
  const known = kept.get(key) ?? isUnseen(type, object, target);
  kept.set(key, known);
  return known;
}

const NEEDS: Readonly<
  Partial<Record<TaskType, { appliance: string; ability: "cleanable" | "heatable" | "coolable" }>>
> = {
  pick_clean_then_place_in_recep: { appliance: "SinkBasin", ability: "cleanable" },
  pick_heat_then_place_in_recep: { appliance: "Microwave", ability: "heatable" },
  pick_cool_then_place_in_recep: { appliance: "Fridge", ability: "coolable" },
};

function targetsOf(type: TaskType, group: ObjectGroup, present: ReadonlySet<string>): string[] {
  if (type !== "look_at_obj_in_light")
    return group.homes.filter((home) => present.has(home) && home !== NEEDS[type]?.appliance);
  return LAMP_HOMES.some((home) => present.has(home)) ? [...LAMPS] : [];
}

function groupsIn(room: Room): ObjectGroup[] {
  return room.kind.groups.map((index) => OBJECT_GROUPS[index]!);
}

function furnish(
  room: Room,
  wanted: Wanted,
  difficulty: Difficulty,
  random: Random,
): Household["objects"] {
  const objects: { name: string; at: number }[] = [];
  const put = (name: string, homes: readonly ReceptacleName[], except?: string): boolean => {
    const at = placeFor(room, homes, except, random);
    if (at !== undefined) objects.push({ name, at });
    return at !== undefined;
  };
  const isLight = wanted.type === "look_at_obj_in_light";
  if (isLight) put(wanted.target, LAMP_HOMES);
  const group = OBJECT_GROUPS.find(({ names }) => names.includes(wanted.object))!;
  // What is wanted does not begin where it should end.
  const least = wanted.type === "pick_two_obj_and_place" ? 2 : 1;
  const copies = least + random.integer(2);
  for (let i = 0; i < copies; i++) {
    const placed = put(wanted.object, group.homes, isLight ? undefined : wanted.target);
    if (!placed) objects.push({ name: wanted.object, at: elsewhere(room, wanted, random) });
  }
  const [fewest, most] = difficulty.objects;
  const count = fewest + random.integer(most - fewest + 1);
  const others = groupsIn(room).flatMap(({ names, homes }) =>
    names.filter((name) => name !== wanted.object).map((name) => ({ name, homes })),
  );
  for (let i = objects.length; i < count; i++) {
    const { name, homes } = random.pick(others);
    put(name, homes);
  }
  return objects;
}

/** The homes are named from the likeliest to the least likely. */
function placeFor(
  room: Room,
  homes: readonly ReceptacleName[],
  except: string | undefined,
  random: Random,
): number | undefined {
  const weights = room.furniture.map(({ name }) => {
    const rank = homes.indexOf(name);
    return rank < 0 || name === except ? 0 : 1 / (1 + rank);
  });
  let left = random.unit() * weights.reduce((sum, weight) => sum + weight, 0);
  for (const [at, weight] of weights.entries()) {
    left -= weight;
    if (weight > 0 && left <= 0) return at;
  }
  return undefined;
}

/** Any furniture but the target, where the room has none of the object's homes. */
function elsewhere(room: Room, wanted: Wanted, random: Random): number {
  const places = room.furniture.flatMap(({ name }, at) => (name === wanted.target ? [] : [at]));
  return random.pick(places);
}
