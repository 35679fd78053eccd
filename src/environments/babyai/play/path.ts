/**
 * @file The way to a thing that is seen, as AgentGym's BabyAI looks for it: breadth first, within the view.
 *
 * Its peculiarities decide which of several shortest ways is walked, and sometimes make a way longer, so they
 * are kept: a place is marked when it is taken up, not when it is found, so that a later finder replaces an
 * earlier one; and the view's rectangle is one place too wide where an axis points backwards.
 */
import { inFront, type Point } from "../thing.ts";
import type { Sight } from "./description.ts";
import type { Game } from "./game.ts";
import type { Action } from "./progress.ts";
import { axes, farLeft, VIEW } from "./view.ts";

/** What a search knows of the surroundings; the same for all ways from one place. */
export interface Surroundings {
  readonly game: Game;
  readonly blocked: ReadonlySet<string>;
  readonly isInView: (place: Point) => boolean;
}

interface Stand {
  readonly place: Point;
  readonly direction: number;
}

const STEPS: readonly (readonly [action: Action, turn: number])[] = [
  ["forward", 0],
  ["left", 3],
  ["right", 1],
];

const keyOf = ({ x, y }: Point): string => `${x},${y}`;

export function surroundingsOf(game: Game, sights: readonly Sight[]): Surroundings {
  const corner = farLeft(game);
  const [ahead, right] = axes(game.direction);
  const range = (start: number, step: number): [from: number, to: number] => {
    const end = start + VIEW * step;
    return end < start ? [end, start] : [start, end - 1];
  };
  const [left, farRight] = range(corner.x, right.x - ahead.x);
  const [top, bottom] = range(corner.y, right.y - ahead.y);
  return {
    game,
    // Doors are no obstacles to the search, even closed ones.
    blocked: new Set(
      sights.filter(({ thing }) => thing.kind !== "door").map(({ place }) => keyOf(place)),
    ),
    isInView: ({ x, y }) => x >= left && x <= farRight && y >= top && y <= bottom,
  };
}

/** The actions to a place (`arrive`), or until it is straight ahead; undefined where there is no way. */
export function pathTo(
  { game, blocked, isInView }: Surroundings,
  goal: Point,
  arrive: boolean,
): readonly Action[] | undefined {
  const nameOf = ({ place, direction }: Stand): string => `${keyOf(place)},${direction}`;
  const start: Stand = { place: game.agent, direction: game.direction };
  const cameBy = new Map<string, { before: Stand; action: Action }>();
  const taken = new Set<string>();
  const waiting: Stand[] = [start];
  for (const stand of waiting) {
    taken.add(nameOf(stand));
    const { x, y } = arrive ? stand.place : inFront(stand.place, stand.direction);
    if (x === goal.x && y === goal.y) {
      const path: Action[] = [];
      for (let at = stand; nameOf(at) !== nameOf(start); ) {
        const { before, action } = cameBy.get(nameOf(at))!;
        path.push(action);
        at = before;
      }
      return path.reverse();
    }
    for (const [action, turn] of STEPS) {
      const direction = (stand.direction + turn) % 4;
      const place = action === "forward" ? inFront(stand.place, stand.direction) : stand.place;
      const next = { place, direction };
      if (!isInView(place) || taken.has(nameOf(next)) || blocked.has(keyOf(place))) continue;
      waiting.push(next);
      cameBy.set(nameOf(next), { before: stand, action });
    }
  }
  return undefined;
}
