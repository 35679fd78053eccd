/**
 * @file Levels that draw every mission of BabyAI's language: any errand, two at once, one after the other.
 */
import { COLORS, type Thing } from "../thing.ts";
import { type LevelBuilder, Rejected, type Room } from "./builder.ts";
import {
  type Description,
  type Errand,
  goTo,
  isInside,
  type Mission,
  matches,
  open,
  pickUp,
  put,
  SIDES,
} from "./mission.ts";

export interface SentenceRules {
  readonly distractors: number;
  /** How likely a room is locked, with its key elsewhere. */
  readonly lockedRoom: number;
  /** Whether missions say on which side a thing is. */
  readonly sides: boolean;
  /** Whether things may have to be moved out of the way. */
  readonly unblocking: boolean;
  /** Whether all that is meant may be in the locked room. */
  readonly implicitUnlock: boolean;
  readonly verbs: readonly Errand["verb"][];
  readonly forms: readonly Form[];
}

type Form = "action" | "and" | "seq";

export const ALL_SENTENCES: SentenceRules = {
  distractors: 18,
  lockedRoom: 0.5,
  sides: true,
  unblocking: true,
  implicitUnlock: true,
  verbs: ["go to", "pick up", "open", "put"],
  forms: ["action", "and", "seq"],
};

/** What the original's generator remembers between attempts, and even between episodes of one environment. */
export interface Memory {
  lockedRoom?: Room;
}

const KINDS = ["box", "ball", "key", "door"] as const;
const NOT_DOORS = ["box", "ball", "key"] as const;

export function sentenceMission(
  level: LevelBuilder,
  memory: Memory,
  rules: SentenceRules,
): Mission {
  if (level.random.unit() < rules.lockedRoom) addLockedRoom(level, memory);
  level.connectAll();
  level.addDistractors(rules.distractors, undefined, false);
  do level.placeAgent();
  while (level.room === memory.lockedRoom);
  if (!rules.unblocking) level.requireAllReachable();
  return drawnMission(level, memory, rules, rules.forms);
}

function addLockedRoom(level: LevelBuilder, memory: Memory): void {
  let door: Thing | undefined;
  while (!door) {
    const room = level.randomRoom();
    const side = level.random.integer(0, 4);
    memory.lockedRoom = room;
    if (level.neighbour(room, side)) door = level.addDoor(room, side, undefined, true);
  }
  let keyRoom = level.randomRoom();
  while (keyRoom === memory.lockedRoom) keyRoom = level.randomRoom();
  level.addThing(keyRoom, "key", door.color);
}

function drawnMission(
  level: LevelBuilder,
  memory: Memory,
  rules: SentenceRules,
  forms: readonly Form[],
): Mission {
  const drawn = (parts: readonly Form[]): Mission => drawnMission(level, memory, rules, parts);
  const form = level.random.pick(forms);
  if (form === "and") {
    const first = drawn(["action"]);
    return { verb: "and", first, second: drawn(["action"]) };
  }
  if (form === "seq") {
    const first = drawn(["action", "and"]);
    const second = drawn(["action", "and"]);
    return { verb: level.random.pick(["before", "after"] as const), first, second };
  }
  const thing = (kinds: readonly NonNullable<Description["kind"]>[]): Description =>
    drawnDescription(level, memory, rules, kinds);
  switch (level.random.pick(rules.verbs)) {
    case "go to":
      return goTo(thing(KINDS));
    case "pick up":
      return pickUp(thing(NOT_DOORS));
    case "open":
      return open(thing(["door"]));
    case "put": {
      const what = thing(NOT_DOORS);
      return put(what, thing(KINDS));
    }
  }
}

/** A description that fits something; where locks are to be told, something outside the locked room. */
function drawnDescription(
  level: LevelBuilder,
  { lockedRoom }: Memory,
  { sides, implicitUnlock }: SentenceRules,
  kinds: readonly NonNullable<Description["kind"]>[],
): Description {
  for (let tries = 0; tries <= 100; tries++) {
    const color = level.random.pick([undefined, ...COLORS]);
    const kind = level.random.pick(kinds);
    const side = sides && level.random.isHeads() ? level.random.pick(SIDES) : undefined;
    const description = { kind, color, side };
    const found = matches(level, description);
    const isThere =
      implicitUnlock || !lockedRoom
        ? found.length > 0
        : found.some(({ place }) => !isInside(lockedRoom, place));
    if (isThere) return description;
  }
  throw new Rejected("no description fits");
}
