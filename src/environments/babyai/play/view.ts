/**
 * @file What the agent sees: seven by seven places before it, without those behind walls and closed doors.
 */
import { DIRECTIONS, type Point, type Thing, WALL } from "../thing.ts";
import { type Game, thingAt } from "./game.ts";

export const VIEW = 7;
const HALF = 3;

export interface View {
  /** Row by row from the farthest, each from left to right: what is there, "nothing", or "unseen". */
  readonly seen: readonly (Thing | "nothing" | "unseen")[];
  /** The place of each in the grid. */
  readonly places: readonly Point[];
}

/** The far left corner. */
export function farLeft({ agent, direction }: Game): Point {
  const [ahead, right] = axes(direction);
  return {
    x: agent.x + ahead.x * (VIEW - 1) - right.x * HALF,
    y: agent.y + ahead.y * (VIEW - 1) - right.y * HALF,
  };
}

/** Forwards and to the right. */
export function axes(direction: number): [ahead: Point, right: Point] {
  return [DIRECTIONS[direction]!, DIRECTIONS[(direction + 1) % 4]!];
}

export function viewOf(game: Game): View {
  const corner = farLeft(game);
  const [ahead, right] = axes(game.direction);
  const places: Point[] = [];
  const things: (Thing | undefined)[] = [];
  for (let row = 0; row < VIEW; row++)
    for (let column = 0; column < VIEW; column++) {
      const x = corner.x - ahead.x * row + right.x * column;
      const y = corner.y - ahead.y * row + right.y * column;
      const isInside = x >= 0 && y >= 0 && x < game.width && y < game.height;
      places.push({ x, y });
      things.push(isInside ? thingAt(game, { x, y }) : WALL);
    }
  const isVisible = visible(things);
  const seen = things.map((thing, i) => (isVisible[i] ? (thing ?? "nothing") : "unseen"));
  // The agent sees what it holds at its own place.
  seen[VIEW * (VIEW - 1) + HALF] = game.carried ?? "nothing";
  return { seen, places };
}

/** Light goes from row to row, sideways and ahead, and ends at walls and at doors that are not open. */
function visible(things: readonly (Thing | undefined)[]): readonly boolean[] {
  const lit = new Array<boolean>(VIEW * VIEW).fill(false);
  lit[VIEW * (VIEW - 1) + HALF] = true;
  const spread = (row: number, column: number, side: number): void => {
    const at = row * VIEW + column;
    const thing = things[at];
    if (!lit[at] || thing?.kind === "wall" || (thing?.kind === "door" && thing.state !== "open"))
      return;
    lit[at + side] = true;
    if (row === 0) return;
    lit[at + side - VIEW] = true;
    lit[at - VIEW] = true;
  };
  for (let row = VIEW - 1; row >= 0; row--) {
    for (let column = 0; column < VIEW - 1; column++) spread(row, column, 1);
    for (let column = VIEW - 1; column > 0; column--) spread(row, column, -1);
  }
  return lit;
}

/** Whether two views look the same; the place itself is not seen. */
export function looksSame(one: View, other: View): boolean {
  return one.seen.every((thing, i) => {
    const against = other.seen[i]!;
    if (typeof thing === "string" || typeof against === "string") return thing === against;
    return (
      thing.kind === against.kind && thing.color === against.color && thing.state === against.state
    );
  });
}
