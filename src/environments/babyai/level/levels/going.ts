/**
 * @file Levels in which one goes to things: the first eleven.
 */
import { Rejected } from "../builder.ts";
import { goTo } from "../mission.ts";
import {
  amongDistractors,
  fourDoors,
  isOf,
  type Level,
  layout,
  lockedRoom,
  redBall,
  sentences,
} from "./drawing.ts";

export const GOING: readonly Level[] = [
  { name: "GoToRedBallGrey", layout: layout(8, 1), draw: redBall(7, true) },
  { name: "GoToRedBall", layout: layout(8, 1), draw: redBall(7) },
  { name: "GoToRedBallNoDists", layout: layout(8, 1), draw: redBall(0) },
  {
    name: "GoToObjS6",
    layout: layout(4, 1),
    draw(level) {
      level.placeAgent();
      return goTo(isOf(level.addDistractors(1)[0]!));
    },
  },
  {
    name: "GoToLocalS8N7",
    layout: layout(8, 1),
    draw: amongDistractors(7, (thing) => goTo(isOf(thing)), false),
  },
  {
    name: "GoToObjMazeS7",
    layout: layout(7),
    draw: amongDistractors(1, (thing) => goTo(isOf(thing)), true),
  },
  {
    name: "GoToImpUnlock",
    layout: layout(8),
    draw: lockedRoom(2, false, (_level, _door, add) => goTo(isOf(add(1)[0]!))),
  },
  sentences("GoToSeqS5R2", layout(5, 2), {
    ...{ distractors: 4, verbs: ["go to"], lockedRoom: 0, sides: false, unblocking: false },
  }),
  {
    name: "GoToRedBlueBall",
    layout: layout(8, 1),
    draw(level) {
      level.placeAgent();
      for (const { kind, color } of level.addDistractors(7, undefined, false))
        if (kind === "ball" && (color === "blue" || color === "red"))
          throw new Rejected("there must be one blue or red ball");
      const color = level.random.pick(["red", "blue"] as const);
      const ball = level.addThing(level.rooms[0]!, "ball", color);
      level.requireAllReachable();
      return goTo(isOf(ball));
    },
  },
  {
    name: "GoToDoor",
    layout: layout(7),
    draw(level) {
      const doors = fourDoors(level);
      level.placeAgent(level.roomAt(1, 1));
      return goTo(isOf(level.random.pick(doors)));
    },
  },
  {
    name: "GoToObjDoor",
    layout: layout(8),
    draw(level) {
      level.placeAgent(level.roomAt(1, 1));
      const things = level.addDistractors(8, level.roomAt(1, 1), false);
      things.push(...fourDoors(level));
      level.requireAllReachable();
      return goTo(isOf(level.random.pick(things)));
    },
  },
];
