/**
 * @file Levels in which one opens doors, picks things up and puts them somewhere.
 */
import { COLORS, type Thing } from "../../thing.ts";
import { Rejected } from "../builder.ts";
import { type Mission, open, pickUp, put, SIDES } from "../mission.ts";
import { amongDistractors, bothRooms, isOf, type Level, layout, sentences } from "./drawing.ts";

export const OPENING: readonly Level[] = [
  {
    name: "Open",
    layout: layout(8),
    draw(level) {
      level.placeAgent();
      level.connectAll();
      level.addDistractors(18, undefined, false);
      level.requireAllReachable();
      const doors: Thing[] = [];
      for (let column = 0; column < 3; column++)
        for (let row = 0; row < 3; row++)
          for (const door of level.roomAt(column, row).doors)
            if (door && door !== "opening") doors.push(door);
      return open(isOf(level.random.pick(doors)));
    },
  },
  {
    name: "OpenRedDoor",
    layout: layout(5, 1, 2),
    draw(level) {
      level.addDoor(level.roomAt(0, 0), 0, "red", false);
      level.placeAgent(level.roomAt(0, 0));
      return open({ kind: "door", color: "red" });
    },
  },
  {
    name: "OpenDoorLoc",
    layout: layout(8),
    draw(level) {
      const colors = level.random.subset(COLORS, 4);
      for (const [side, color] of colors.entries())
        level.addDoor(level.roomAt(1, 1), side, color, false);
      const side = level.random.pick(SIDES);
      level.placeAgent(level.roomAt(1, 1));
      return open({ kind: "door", side });
    },
  },
  {
    name: "OpenRedBlueDoorsDebug",
    layout: layout(6),
    limit: 20 * 36,
    draw(level) {
      // The original draws two colours and takes the given ones.
      level.random.subset(COLORS, 2);
      level.addDoor(level.roomAt(1, 1), 2, "red", false);
      level.addDoor(level.roomAt(1, 1), 0, "blue", false);
      level.placeAgent(level.roomAt(1, 1));
      const first = open({ kind: "door", color: "red" }, true);
      return { verb: "before", first, second: open({ kind: "door", color: "blue" }) };
    },
  },
  {
    name: "OpenDoorsOrderN4Debug",
    layout: layout(6),
    limit: 20 * 36,
    draw(level) {
      const doors = level.random
        .subset(COLORS, 4)
        .map((color) => level.addDoor(level.roomAt(1, 1), undefined, color, false));
      level.placeAgent(level.roomAt(1, 1));
      const chosen = level.random.subset(doors, 2);
      const [first, second] = chosen.map((door) => open(isOf(door), true)) as [Mission, Mission];
      const mode = level.random.integer(0, 3);
      return mode === 0 ? first : { verb: mode === 1 ? "before" : "after", first, second };
    },
  },
  {
    name: "Pickup",
    layout: layout(8),
    draw: amongDistractors(18, (thing) => pickUp(isOf(thing)), true),
  },
  {
    name: "UnblockPickup",
    layout: layout(8),
    draw(level) {
      level.placeAgent();
      level.connectAll();
      const things = level.addDistractors(20, undefined, false);
      if (level.isAllReachable()) throw new Rejected("nothing is in the way");
      return pickUp(isOf(level.random.pick(things)));
    },
  },
  sentences("PickupLoc", layout(8, 1), {
    ...{ distractors: 8, verbs: ["pick up"], forms: ["action"], lockedRoom: 0, unblocking: false },
  }),
  {
    name: "PickupDistDebug",
    layout: layout(7, 1),
    draw(level) {
      const things = level.addDistractors(5);
      level.placeAgent(level.roomAt(0, 0));
      const thing = isOf(level.random.pick(things));
      const by = level.random.pick(["kind", "color", "both"] as const);
      if (by === "both") return pickUp(thing, true);
      return pickUp(by === "kind" ? { kind: thing.kind } : { color: thing.color }, true);
    },
  },
  {
    name: "PickupAbove",
    layout: layout(6),
    limit: 8 * 36,
    draw(level) {
      const thing = level.addThing(level.roomAt(1, 0));
      level.addDoor(level.roomAt(1, 1), 3, undefined, false);
      level.placeAgent(level.roomAt(1, 1));
      level.connectAll();
      return pickUp(isOf(thing));
    },
  },
  {
    name: "PutNextLocalS6N4",
    layout: layout(6, 1),
    draw(level) {
      level.placeAgent();
      const things = level.addDistractors(4);
      level.requireAllReachable();
      const [what, beside] = level.random.subset(things, 2) as [Thing, Thing];
      return put(isOf(what), isOf(beside));
    },
  },
  {
    name: "PutNextS7N4Carrying",
    layout: layout(7, 1, 2),
    limit: 8 * 49,
    draw(level, drawing) {
      const [left, right] = bothRooms(level, 4);
      const [one, other] = [level.random.pick(left), level.random.pick(right)];
      const [what, beside] = level.random.isHeads() ? [other, one] : [one, other];
      drawing.carried = what;
      return put(isOf(what), isOf(beside));
    },
  },
];
