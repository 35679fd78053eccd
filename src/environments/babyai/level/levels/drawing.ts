/**
 * @file What a level is, and what several of BabyAI's levels draw alike.
 */
import { COLORS, type Thing } from "../../thing.ts";
import type { LevelBuilder, RoomLayout } from "../builder.ts";
import { goTo, type Mission } from "../mission.ts";
import { ALL_SENTENCES, type Memory, type SentenceRules, sentenceMission } from "../sentences.ts";

/** What a level is drawn with, besides the builder. */
export interface Drawing extends Memory {
  /**
   * Whether a key may lie in the room that it opens. The original forbids it by comparing numbers with `is`,
   * which says no for NumPy's; so one in nine of its games of two levels cannot be won.
   */
  readonly keysMayBeLockedIn: boolean;
  /** What the agent holds when it starts. */
  carried?: Thing;
}

export interface Level {
  readonly name: string;
  readonly layout: RoomLayout;
  /** Steps, where they do not follow from the mission. */
  readonly limit?: number;
  /** Things may have to be moved: then no mission is about the key of a locked door. */
  readonly unblocking?: boolean;
  draw(level: LevelBuilder, drawing: Drawing): Mission;
}

export const layout = (size: number, rows = 3, columns = rows): RoomLayout => ({
  size,
  rows,
  columns,
});
export const isOf = ({ kind, color }: Thing) => ({
  kind: kind as "key" | "ball" | "box" | "door",
  color,
});
export const kindOf = ({ kind }: Thing) => ({ kind: kind as "key" | "ball" | "box" | "door" });

export function redBall(distractors: number, isGrey = false): Level["draw"] {
  return (level) => {
    level.placeAgent();
    const ball = level.addThing(level.rooms[0]!, "ball", "red");
    const others = level.addDistractors(distractors, undefined, false);
    if (isGrey)
      for (const { id } of others) {
        const index = level.cells.findIndex((thing) => thing?.id === id);
        level.cells[index] = { ...level.cells[index]!, color: "grey" };
      }
    level.requireAllReachable();
    return goTo(isOf(ball));
  };
}

/** In rooms that are all connected: one of the things is meant. */
export function amongDistractors(
  count: number,
  mission: (thing: Thing) => Mission,
  isConnected: boolean,
): Level["draw"] {
  return (level) => {
    level.placeAgent();
    if (isConnected) level.connectAll();
    const things = level.addDistractors(count, undefined, false);
    level.requireAllReachable();
    return mission(level.random.pick(things));
  };
}

/** A locked room, its key and a few things; `missionOf` is asked when the agent has its place. */
export function lockedRoom(
  distractors: number,
  mayHideColor: boolean,
  missionOf: (level: LevelBuilder, door: Thing, add: (count: number) => Thing[]) => Mission,
): Level["draw"] {
  return (level, { keysMayBeLockedIn }) => {
    const room = level.randomRoom();
    const door = level.addDoor(room, undefined, undefined, true);
    let keyRoom = level.randomRoom();
    while (!keysMayBeLockedIn && keyRoom === room) keyRoom = level.randomRoom();
    level.addThing(keyRoom, "key", door.color);
    const isOnly = mayHideColor && level.random.isHeads();
    level.connectAll(isOnly ? COLORS.filter((color) => color !== door.color) : COLORS);
    for (let column = 0; column < level.layout.columns; column++)
      for (let row = 0; row < level.layout.rows; row++)
        // The same comparison of numbers as above: the locked room gets some, too.
        level.addDistractors(distractors, level.roomAt(column, row), false);
    do level.placeAgent();
    while (level.room === room);
    level.requireAllReachable();
    return missionOf(level, door, (count) => level.addDistractors(count, room, false));
  };
}

/** Doors on all sides of the middle room. */
export function fourDoors(level: LevelBuilder, locked?: boolean): Thing[] {
  return Array.from({ length: 4 }, () =>
    level.addDoor(level.roomAt(1, 1), undefined, undefined, locked),
  );
}

export function bothRooms(level: LevelBuilder, count: number): [left: Thing[], right: Thing[]] {
  level.placeAgent(level.roomAt(0, 0));
  const left = level.addDistractors(count, level.roomAt(0, 0));
  const right = level.addDistractors(count, level.roomAt(1, 0));
  level.removeWall(level.roomAt(0, 0), 0);
  return [left, right];
}

export function sentences(name: string, rooms: RoomLayout, rules: Partial<SentenceRules>): Level {
  const all = { ...ALL_SENTENCES, ...rules };
  return {
    ...{ name, layout: rooms, unblocking: all.unblocking },
    draw: (level, drawing) => sentenceMission(level, drawing, all),
  };
}
