/**
 * @file A maze: its walls, where its goal is, what one sees from a place, and the way to the goal.
 *
 * Positions are [row, column], counted from 0 at the top left, as the observations name them.
 */

export type Position = readonly [row: number, column: number];

export interface Maze {
  /** One text per row, "1" is a wall. The border is always wall. */
  readonly rows: readonly string[];
  readonly goal: Position;
  /** How many steps there are before the world gives up. */
  readonly limit: number;
}

export const MOVES: Readonly<Record<string, Position>> = {
  "move left": [0, -1],
  "move right": [0, 1],
  "move up": [-1, 0],
  "move down": [1, 0],
};

/** The maze of the original: two T, one on the other, with the goal at the foot. */
export const DOUBLE_T: Maze = {
  rows: [
    "1111111111111",
    "1000001000001",
    ...new Array<string>(3).fill("1110111110111"),
    "1110000000111",
    ...new Array<string>(3).fill("1111110111111"),
    "1111111111111",
  ],
  goal: [8, 6],
  limit: 50,
};

/**
 * Where the original's games begin, by their number. The last, 25, begins at the goal: its published
 * games have it, its later versions refuse it, and we do not list it among the tasks.
 */
export const DOUBLE_T_STARTS: readonly Position[] = [
  ...[1, 2, 3, 4, 5, 7, 8, 9, 10, 11].map((column): Position => [1, column]),
  ...[2, 3, 4, 5].map((row): Position => [row, 3]),
  ...[4, 5, 6].map((column): Position => [5, column]),
  ...[6, 7].map((row): Position => [row, 6]),
  ...[7, 8, 9].map((column): Position => [5, column]),
  ...[4, 3, 2].map((row): Position => [row, 9]),
  [8, 6],
];

export function isOpen({ rows }: Maze, [row, column]: Position): boolean {
  return rows[row]?.[column] === "0";
}

export function moved([row, column]: Position, [down, right]: Position): Position {
  return [row + down, column + right];
}

/** In the order in which an observation names them. */
export const WALLS: readonly (readonly [text: string, action: string])[] = [
  ["to your right", "move right"],
  ["to your left", "move left"],
  ["above you", "move up"],
  ["below you", "move down"],
];

/** What is seen from a place. */
export function description(maze: Maze, position: Position): string {
  const walls = WALLS.filter(([, action]) => !isOpen(maze, moved(position, MOVES[action]!))).map(
    ([text]) => text,
  );
  const seen =
    walls.length === 0
      ? "There are no walls near you."
      : walls.length === 1
        ? `There is a wall ${walls[0]}.`
        : `There are walls ${walls.join(", ")}.`;
  return (
    `The goal is at position ${maze.goal.join(", ")}. ` +
    `Your current position is at position ${position.join(", ")}. ${seen}\n`
  );
}

/**
 * The shortest moves from a place to the nearest one that `isWanted`, over places that `canEnter`;
 * undefined when there is none.
 */
export function shortestMoves(
  from: Position,
  isWanted: (position: Position) => boolean,
  canEnter: (position: Position) => boolean,
): readonly string[] | undefined {
  const key = (position: Position): string => position.join();
  const cameBy = new Map<string, { action: string; before: string } | undefined>([
    [key(from), undefined],
  ]);
  const waiting: Position[] = [from];
  for (const place of waiting) {
    if (isWanted(place)) {
      const way: string[] = [];
      for (let step = cameBy.get(key(place)); step; step = cameBy.get(step.before))
        way.push(step.action);
      return way.reverse();
    }
    for (const [action, move] of Object.entries(MOVES)) {
      const next = moved(place, move);
      if (cameBy.has(key(next)) || !canEnter(next)) continue;
      cameBy.set(key(next), { action, before: key(place) });
      waiting.push(next);
    }
  }
  return undefined;
}

export function isSame(one: Position, other: Position): boolean {
  return one[0] === other[0] && one[1] === other[1];
}
