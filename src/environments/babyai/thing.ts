/**
 * @file What stands in BabyAI's rooms, and directions.
 */

export const COLORS = ["blue", "green", "grey", "purple", "red", "yellow"] as const;
export type Color = (typeof COLORS)[number];

export type Kind = "key" | "ball" | "box" | "door" | "wall";
export type DoorState = "open" | "closed" | "locked";

/** Never changed but replaced; the one that takes its place has its id. */
export interface Thing {
  /** Its own in the level; walls share one. */
  readonly id: number;
  readonly kind: Kind;
  readonly color: Color;
  /** Of doors. */
  readonly state?: DoorState;
  /** What a box holds. */
  readonly contains?: Thing;
}

export const WALL: Thing = { id: -1, kind: "wall", color: "grey" };

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Right, down, left, up: turning right is the next one. */
export const DIRECTIONS: readonly Point[] = [
  { x: 1, y: 0 },
  { x: 0, y: 1 },
  { x: -1, y: 0 },
  { x: 0, y: -1 },
];

/** The place before somebody. */
export function inFront(place: Point, direction: number): Point {
  const { x, y } = DIRECTIONS[direction]!;
  return { x: place.x + x, y: place.y + y };
}

export function isSamePlace(one: Point, other: Point): boolean {
  return one.x === other.x && one.y === other.y;
}

/** How many steps apart two places are when nothing is in the way. */
export function stepsApart(one: Point, other: Point): number {
  return Math.abs(one.x - other.x) + Math.abs(one.y - other.y);
}

/** As texts name it: "red closed door", "blue key". */
export function nameOf({ kind, color, state }: Thing): string {
  return kind === "door" ? `${color} ${state} door` : `${color} ${kind}`;
}
