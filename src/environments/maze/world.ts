/**
 * @file The world of mazes: the original's one with its 25 starts, or generated ones.
 */
import { shown } from "../../network/index.ts";
import {
  EnvironmentError,
  type Json,
  type LocalEnvironment,
  type Task,
  type World,
} from "../environment.ts";
import { localWorld } from "../functions/world.ts";
import { seededRandom } from "../random.ts";
import { mazeExplorer } from "./explorer.ts";
import { generateMaze, type MazeSize } from "./generate.ts";
import {
  DOUBLE_T,
  DOUBLE_T_STARTS,
  description,
  isOpen,
  isSame,
  type Maze,
  MOVES,
  moved,
  type Position,
  shortestMoves,
} from "./grid.ts";

export interface MazeOptions extends MazeSize {
  readonly maze: "double_t" | "generated";
  /** How many generated mazes the split train has. */
  readonly games: number;
  readonly seed: number;
  readonly winReward: number;
}

const TEST_GAMES = 200;

const INSTRUCTION =
  "Find the way through the maze to the goal in as few steps as you can. A position is a row, counted " +
  'downwards, and a column, counted to the right. Your actions are "move up", "move down", ' +
  '"move left" and "move right"; a wall stops you.';

interface State {
  readonly maze: Maze;
  readonly position: Position;
  readonly steps: number;
}

export function mazeWorld(options: MazeOptions): World<LocalEnvironment> {
  const isGenerated = options.maze === "generated";
  if (isGenerated && (options.width % 2 === 0 || options.height % 2 === 0))
    throw new EnvironmentError(
      "maze",
      `width and height must be odd, because corridors have walls on both sides; got ${options.width} and ${options.height}.`,
    );
  const splits = isGenerated
    ? {
        train: generatedTasks("train", options.games, options),
        test: generatedTasks("test", TEST_GAMES, options),
      }
    : { train: startTasks("train"), test: startTasks("test") };
  return localWorld<State>(
    {
      name: "maze",
      source: isGenerated
        ? `generated mazes, ${options.width} × ${options.height}, seed ${options.seed}`
        : "the double-T maze, 25 starts",
      splits,
      start,
      intro: ({ maze, position }) => ({
        text: description(maze, position),
        instruction: INSTRUCTION,
      }),
      actions: () => Object.keys(MOVES),
      act({ maze, position, steps }, action) {
        if (steps >= maze.limit) return { text: "Failure\n", lost: true, reward: -1 };
        const move = Object.hasOwn(MOVES, action) ? MOVES[action] : undefined;
        const next = move && moved(position, move);
        const reached = next && isOpen(maze, next) ? next : position;
        if (isSame(reached, maze.goal))
          return { text: "Success\n", won: true, reward: options.winReward };
        const text = description(maze, reached);
        return { text, state: { maze, position: reached, steps: steps + 1 } };
      },
      solution: ({ maze, position }) => wayOut(maze, position),
      plan: ({ maze, position }) => wayOut(maze, position),
      expert: mazeExplorer,
    },
    {},
  );
}

function wayOut(maze: Maze, position: Position): readonly string[] | undefined {
  return shortestMoves(
    position,
    (place) => isSame(place, maze.goal),
    (place) => isOpen(maze, place),
  );
}

/** Both splits are the same games: there is one maze, and the original's data does not part it. */
function startTasks(split: string) {
  return DOUBLE_T_STARTS.slice(0, -1).map((_, game) => ({
    ...{ id: `${split}/double_t-${game}`, type: "double_t", data: { maze: "double_t", game } },
  }));
}

function generatedTasks(split: string, games: number, options: MazeOptions) {
  const { width, height, loops, seed } = options;
  return Array.from({ length: games }, (_, index) => ({
    id: `${split}/${width}x${height}-${seed}-${index}`,
    type: "generated",
    data: { maze: "generated", width, height, loops, seed, index } satisfies Json,
  }));
}

/** A task may come from a file that somebody edited. */
function start({ id, split, data }: Task): State {
  const given = (data ?? {}) as Partial<Record<string, Json>>;
  if (given.maze === "double_t") {
    const position = DOUBLE_T_STARTS[Number(given.game)];
    if (position) return { maze: DOUBLE_T, position, steps: 0 };
  }
  const { width, height, loops, seed, index } = given;
  const isSize = (size: unknown): boolean =>
    Number.isInteger(size) && Number(size) % 2 === 1 && Number(size) >= 5 && Number(size) <= 301;
  const isNumber = (value: unknown): value is number =>
    typeof value === "number" && Number.isFinite(value);
  if (given.maze !== "generated" || !isSize(width) || !isSize(height))
    throw new EnvironmentError(
      "maze",
      `the task ${shown(id)} is not one of this world's: its data must be as tasks() makes it.`,
    );
  const size = { width: Number(width), height: Number(height), loops: isNumber(loops) ? loops : 0 };
  const random = seededRandom("maze", split, Number(seed), Number(index));
  const { maze, start } = generateMaze(size, random);
  return { maze, position: start, steps: 0 };
}
