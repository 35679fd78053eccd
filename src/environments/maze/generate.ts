/**
 * @file Makes mazes of any size: a random tree of corridors, with some walls taken out so that there
 * is more than one way.
 */
import type { Random } from "../random.ts";
import { type Maze, MOVES, moved, type Position } from "./grid.ts";

export interface MazeSize {
  /** Both odd, walls included. */
  readonly width: number;
  readonly height: number;
  /** The share of inner walls between two corridors that are opened afterwards. */
  readonly loops: number;
}

/** A maze and a start in it that is not the goal. Every open place can be reached from every other. */
export function generateMaze(
  { width, height, loops }: MazeSize,
  random: Random,
): { maze: Maze; start: Position } {
  const cells = Array.from({ length: height }, () => new Array<string>(width).fill("1"));
  const open = ([row, column]: Position): void => {
    cells[row]![column] = "0";
  };
  const isRoom = ([row, column]: Position): boolean =>
    row > 0 && column > 0 && row < height - 1 && column < width - 1;
  const twice = ([down, right]: Position): Position => [2 * down, 2 * right];
  // Depth first, with a list of our own: a large maze is deeper than the call stack.
  const first: Position = [
    1 + 2 * random.integer((height - 1) / 2),
    1 + 2 * random.integer((width - 1) / 2),
  ];
  open(first);
  const trail: Position[] = [first];
  while (trail.length > 0) {
    const at = trail.at(-1)!;
    const ways = Object.values(MOVES).filter((move) => {
      const next = moved(at, twice(move));
      return isRoom(next) && cells[next[0]]![next[1]] === "1";
    });
    if (ways.length === 0) {
      trail.pop();
      continue;
    }
    const way = random.pick(ways);
    const next = moved(at, twice(way));
    open(moved(at, way));
    open(next);
    trail.push(next);
  }
  for (let row = 1; row < height - 1; row++)
    for (let column = 1; column < width - 1; column++) {
      // Between two places beside or above each other; never the pillars, which would make halls.
      const isBetween = (row + column) % 2 === 1 && cells[row]![column] === "1";
      if (isBetween && random.chance(loops)) open([row, column]);
    }
  const places = cells.flatMap((line, row) =>
    line.flatMap((cell, column): Position[] => (cell === "0" ? [[row, column]] : [])),
  );
  const [start, goal] = random.shuffled(places) as [Position, Position];
  return {
    // Whoever looks into every corner walks each place at most twice.
    maze: {
      rows: cells.map((line) => line.join("")),
      goal,
      limit: Math.max(50, 4 * places.length),
    },
    start,
  };
}
