/**
 * @file A level under construction: a grid of square rooms that share walls, with doors, things and the agent.
 *
 * Every draw is in the order in which BabyAI's own generators draw (minigrid 2.x), because a level is only the
 * same when all of its random numbers are.
 */
import {
  COLORS,
  type Color,
  inFront,
  isSamePlace,
  type Kind,
  type Point,
  stepsApart,
  type Thing,
  WALL,
} from "../thing.ts";
import type { Bounds, Scene } from "./mission.ts";
import type { NumpyRandom } from "./numpy-random.ts";

/** The draws so far lead nowhere: begin again with the numbers that follow. */
export class Rejected extends Error {
  override name = "Rejected";
}

export interface Room extends Bounds {
  readonly column: number;
  readonly row: number;
  /** Right, down, left, up: the door there, or that the wall was taken away. */
  readonly doors: (Thing | "opening" | undefined)[];
  /** Where a door to the neighbour would be; undefined where there is no neighbour. */
  readonly doorPlaces: (Point | undefined)[];
  locked: boolean;
  readonly things: Thing[];
}

export interface RoomLayout {
  readonly size: number;
  readonly rows: number;
  readonly columns: number;
}

type MovableKind = "key" | "ball" | "box";
const MOVABLE: readonly MovableKind[] = ["key", "ball", "box"];
/** Tries to find a free place before everything is begun again. */
const TRIES = 1001;

export class LevelBuilder implements Scene {
  readonly random: NumpyRandom;
  readonly layout: RoomLayout;
  readonly width: number;
  readonly height: number;
  readonly cells: (Thing | undefined)[];
  readonly rooms: readonly Room[];
  agent: Point;
  direction = 0;
  #things = 0;

  constructor(random: NumpyRandom, layout: RoomLayout) {
    const { size, rows, columns } = layout;
    this.random = random;
    this.layout = layout;
    this.width = (size - 1) * columns + 1;
    this.height = (size - 1) * rows + 1;
    this.cells = Array.from({ length: this.width * this.height }, (_, index) => {
      const isOnWall =
        (index % this.width) % (size - 1) === 0 ||
        Math.floor(index / this.width) % (size - 1) === 0;
      return isOnWall ? WALL : undefined;
    });
    this.rooms = Array.from({ length: rows * columns }, (_, index) => {
      const [column, row] = [index % columns, Math.floor(index / columns)];
      return {
        ...{ column, row, left: column * (size - 1), top: row * (size - 1), size, locked: false },
        ...{ doors: [undefined, undefined, undefined, undefined], things: [] },
        doorPlaces: [undefined, undefined, undefined, undefined],
      };
    });
    for (const room of this.rooms) this.#placeDoors(room);
    const middle = (count: number): number =>
      Math.floor(count / 2) * (size - 1) + Math.floor(size / 2);
    this.agent = { x: middle(columns), y: middle(rows) };
  }

  #placeDoors({ left, top, size, doorPlaces, ...room }: Room): void {
    const along = (from: number): number => this.random.integer(from + 1, from + size - 1);
    if (this.neighbour(room, 0)) doorPlaces[0] = { x: left + size - 1, y: along(top) };
    if (this.neighbour(room, 1)) doorPlaces[1] = { x: along(left), y: top + size - 1 };
    doorPlaces[2] = this.neighbour(room, 2)?.doorPlaces[0];
    doorPlaces[3] = this.neighbour(room, 3)?.doorPlaces[1];
  }

  roomAt(column: number, row: number): Room {
    return this.rooms[row * this.layout.columns + column]!;
  }

  /** The room in which the agent is; of two that share a wall, the right or lower one. */
  get room(): Room {
    const side = this.layout.size - 1;
    return this.roomAt(Math.floor(this.agent.x / side), Math.floor(this.agent.y / side));
  }

  neighbour({ column, row }: Pick<Room, "column" | "row">, side: number): Room | undefined {
    const { x, y } = inFront({ x: column, y: row }, side);
    const isThere = x >= 0 && y >= 0 && x < this.layout.columns && y < this.layout.rows;
    return isThere ? this.roomAt(x, y) : undefined;
  }

  randomRoom(): Room {
    const column = this.random.integer(0, this.layout.columns);
    return this.roomAt(column, this.random.integer(0, this.layout.rows));
  }

  at({ x, y }: Point): Thing | undefined {
    return this.cells[y * this.width + x];
  }

  set({ x, y }: Point, thing: Thing | undefined): void {
    this.cells[y * this.width + x] = thing;
  }

  made(kind: Kind, color: Color, more: Partial<Thing> = {}): Thing {
    return { id: this.#things++, kind, color, ...more };
  }

  randomColor(): Color {
    return this.random.pick(COLORS);
  }

  /** A free place in the room, which is not where the agent is. */
  #freePlace({ left, top, size }: Room, isRejected: (place: Point) => boolean): Point {
    for (let tries = 0; tries < TRIES; tries++) {
      const x = this.random.integer(left, left + size);
      const place = { x, y: this.random.integer(top, top + size) };
      if (this.at(place) || isSamePlace(place, this.agent) || isRejected(place)) continue;
      return place;
    }
    throw new Rejected("no free place in a room");
  }

  /** Not beside the agent: nothing is solved at the start. */
  placeInRoom(room: Room, thing: Thing): void {
    this.set(
      this.#freePlace(room, (place) => stepsApart(place, this.agent) < 2),
      thing,
    );
    room.things.push(thing);
  }

  addThing(room: Room, kind?: MovableKind, color?: Color): Thing {
    const drawn = kind ?? this.random.pick(MOVABLE);
    const thing = this.made(drawn, color ?? this.randomColor());
    this.placeInRoom(room, thing);
    return thing;
  }

  addDoor(room: Room, side?: number, color?: Color, locked?: boolean): Thing {
    let at = side;
    while (at === undefined) {
      const drawn = this.random.integer(0, 4);
      if (this.neighbour(room, drawn) && room.doors[drawn] === undefined) at = drawn;
    }
    const paint = color ?? this.randomColor();
    const isLocked = locked ?? this.random.isHeads();
    const door = this.made("door", paint, { state: isLocked ? "locked" : "closed" });
    room.locked = isLocked;
    this.set(room.doorPlaces[at]!, door);
    room.doors[at] = door;
    this.neighbour(room, at)!.doors[(at + 2) % 4] = door;
    return door;
  }

  /** Takes the wall between two rooms away. */
  removeWall(room: Room, side: number): void {
    const { left, top, size } = room;
    for (let i = 1; i < size - 1; i++)
      this.set(
        side % 2 === 0
          ? { x: side === 0 ? left + size - 1 : left, y: top + i }
          : { x: left + i, y: side === 1 ? top + size - 1 : top },
        undefined,
      );
    room.doors[side] = "opening";
    this.neighbour(room, side)!.doors[(side + 2) % 4] = "opening";
  }

  /** Somewhere in the room (or in any), not facing a thing. */
  placeAgent(room?: Room): void {
    const inside = room ?? this.randomRoom();
    for (;;) {
      this.agent = { x: -1, y: -1 };
      this.agent = this.#freePlace(inside, () => false);
      this.direction = this.random.integer(0, 4);
      const ahead = this.at(inFront(this.agent, this.direction));
      if (!ahead || ahead.kind === "wall") return;
    }
  }

  /** Adds doors until every room can be reached from the agent's; rooms behind a lock get none. */
  connectAll(colors: readonly Color[] = COLORS): void {
    const start = this.room;
    for (let tries = 0; tries <= 5000; tries++) {
      if (this.#reached(start).size === this.rooms.length) return;
      const room = this.randomRoom();
      const side = this.random.integer(0, 4);
      if (!room.doorPlaces[side] || room.doors[side]) continue;
      if (room.locked || this.neighbour(room, side)!.locked) continue;
      this.addDoor(room, side, this.random.pick(colors), false);
    }
    throw new Rejected("the rooms cannot be connected");
  }

  #reached(start: Room): Set<Room> {
    const reached = new Set([start]);
    for (const room of reached)
      room.doors.forEach((door, side) => {
        if (door) reached.add(this.neighbour(room, side)!);
      });
    return reached;
  }

  /** Things that have no part in the mission, or of which one is chosen for it. */
  addDistractors(count: number, room?: Room, allDifferent = true): Thing[] {
    const name = ({ kind, color }: Pick<Thing, "kind" | "color">): string => `${kind} ${color}`;
    const known = new Set(this.rooms.flatMap(({ things }) => things.map(name)));
    const added: Thing[] = [];
    while (added.length < count) {
      const color = this.randomColor();
      const kind = this.random.pick(MOVABLE);
      if (allDifferent && known.has(name({ kind, color }))) continue;
      known.add(name({ kind, color }));
      added.push(this.addThing(room ?? this.randomRoom(), kind, color));
    }
    return added;
  }

  /** Whether the agent can stand before every thing without moving any; locks do not count. */
  isAllReachable(): boolean {
    const reached = new Set<number>();
    const waiting: Point[] = [this.agent];
    for (let place = waiting.pop(); place; place = waiting.pop()) {
      const index = place.y * this.width + place.x;
      if (reached.has(index)) continue;
      reached.add(index);
      const thing = this.at(place);
      if (thing && thing.kind !== "door") continue;
      for (let side = 0; side < 4; side++) waiting.push(inFront(place, side));
    }
    return this.cells.every((thing, i) => !thing || thing.kind === "wall" || reached.has(i));
  }

  requireAllReachable(): void {
    if (!this.isAllReachable()) throw new Rejected("a thing cannot be reached");
  }
}
