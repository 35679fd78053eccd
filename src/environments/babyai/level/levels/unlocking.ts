/**
 * @file Levels with keys and locked doors, and those that mix everything.
 */
import { COLORS, type Thing } from "../../thing.ts";
import { goTo, open, pickUp, put } from "../mission.ts";
import {
  bothRooms,
  fourDoors,
  isOf,
  kindOf,
  type Level,
  layout,
  lockedRoom,
  sentences,
} from "./drawing.ts";

export const UNLOCKING: readonly Level[] = [
  {
    name: "Unlock",
    layout: layout(8),
    draw: lockedRoom(3, true, (_level, door) => open(isOf(door))),
  },
  {
    name: "UnlockLocalDist",
    layout: layout(8),
    draw(level) {
      const room = level.roomAt(1, 1);
      const door = level.addDoor(room, undefined, undefined, true);
      level.addThing(room, "key", door.color);
      level.addDistractors(3, room);
      level.placeAgent(room);
      return open(kindOf(door));
    },
  },
  {
    name: "KeyInBox",
    layout: layout(8),
    draw(level) {
      const room = level.roomAt(1, 1);
      const door = level.addDoor(room, undefined, undefined, true);
      const contains = level.made("key", door.color);
      level.placeInRoom(room, level.made("box", level.randomColor(), { contains }));
      level.placeAgent(room);
      return open(kindOf(door));
    },
  },
  {
    name: "UnlockPickupDist",
    layout: layout(6, 1, 2),
    draw(level) {
      const box = level.addThing(level.roomAt(1, 0), "box");
      const door = level.addDoor(level.roomAt(0, 0), 0, undefined, true);
      level.addThing(level.roomAt(0, 0), "key", door.color);
      level.addDistractors(4);
      level.placeAgent(level.roomAt(0, 0));
      return pickUp(isOf(box));
    },
  },
  {
    name: "BlockedUnlockPickup",
    layout: layout(6, 1, 2),
    limit: 16 * 36,
    draw(level) {
      const room = level.roomAt(0, 0);
      const box = level.addThing(level.roomAt(1, 0), "box");
      const door = level.addDoor(room, 0, undefined, true);
      const { x, y } = room.doorPlaces[0]!;
      level.set({ x: x - 1, y }, level.made("ball", level.randomColor()));
      level.addThing(room, "key", door.color);
      level.placeAgent(room);
      return pickUp(kindOf(box));
    },
  },
  {
    name: "UnlockToUnlock",
    layout: layout(6, 1, 3),
    limit: 30 * 36,
    draw(level) {
      const [left, right] = level.random.subset(COLORS, 2);
      level.addDoor(level.roomAt(0, 0), 0, left, true);
      level.addThing(level.roomAt(2, 0), "key", left);
      level.addDoor(level.roomAt(1, 0), 0, right, true);
      level.addThing(level.roomAt(1, 0), "key", right);
      const ball = level.addThing(level.roomAt(0, 0), "ball");
      level.placeAgent(level.roomAt(1, 0));
      return pickUp(kindOf(ball));
    },
  },
  {
    name: "ActionObjDoor",
    layout: layout(7),
    draw(level) {
      const things = level.addDistractors(5, level.roomAt(1, 1));
      things.push(...fourDoors(level, false));
      level.placeAgent(level.roomAt(1, 1));
      const thing = level.random.pick(things);
      if (level.random.isHeads()) return goTo(isOf(thing));
      return thing.kind === "door" ? open(isOf(thing)) : pickUp(isOf(thing));
    },
  },
  {
    name: "FindObjS7",
    layout: layout(7),
    limit: 20 * 49,
    draw(level) {
      const thing = level.addThing(level.randomRoom());
      level.placeAgent(level.roomAt(1, 1));
      level.connectAll();
      return pickUp(kindOf(thing));
    },
  },
  {
    name: "KeyCorridorS6R3",
    layout: layout(6),
    limit: 30 * 36,
    draw(level) {
      for (let row = 1; row < 3; row++) level.removeWall(level.roomAt(1, row), 3);
      const room = level.roomAt(2, level.random.integer(0, 3));
      const door = level.addDoor(room, 2, undefined, true);
      const ball = level.addThing(room, "ball");
      level.addThing(level.roomAt(0, level.random.integer(0, 3)), "key", door.color);
      level.placeAgent(level.roomAt(1, 1));
      level.connectAll();
      return pickUp(kindOf(ball));
    },
  },
  {
    name: "OneRoomS20",
    layout: layout(20, 1),
    draw(level) {
      const ball = level.addThing(level.rooms[0]!, "ball");
      level.placeAgent();
      return pickUp(kindOf(ball));
    },
  },
  {
    name: "MoveTwoAcrossS8N9",
    layout: layout(8, 1, 2),
    limit: 16 * 64,
    draw(level) {
      const [left, right] = bothRooms(level, 9);
      const [a, d] = level.random.subset(left, 2) as [Thing, Thing];
      const [b, c] = level.random.subset(right, 2) as [Thing, Thing];
      return { verb: "before", first: put(isOf(a), isOf(b)), second: put(isOf(c), isOf(d)) };
    },
  },
  sentences("SynthS5R2", layout(5, 2, 3), {
    forms: ["action"],
    sides: false,
    implicitUnlock: false,
  }),
  sentences("SynthLoc", layout(8), { forms: ["action"], implicitUnlock: false }),
  sentences("SynthSeq", layout(8), { implicitUnlock: false }),
  sentences("MiniBossLevel", layout(5, 2), { distractors: 7, lockedRoom: 0.25 }),
  sentences("BossLevel", layout(8), {}),
  sentences("BossLevelNoUnlock", layout(8), { lockedRoom: 0, implicitUnlock: false }),
];
