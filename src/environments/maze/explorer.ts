/**
 * @file The scripted expert: it sees its place, the goal's and the walls around it, remembers, and
 * goes to the most promising place that it has seen and not yet been at.
 */
import type { Expert } from "../environment.ts";
import { isSame, MOVES, moved, type Position, shortestMoves, WALLS } from "./grid.ts";

const SEEN =
  /^The goal is at position (\d+), (\d+)\. Your current position is at position (\d+), (\d+)\. (.*)$/m;

export function mazeExplorer(): Expert {
  const visited = new Set<string>();
  const seen = new Map<string, Position>();
  return {
    act({ text }) {
      const match = SEEN.exec(text);
      if (!match) return "move up";
      const position = (first: number): Position => [
        Number(match[first]),
        Number(match[first + 1]),
      ];
      const [goal, here, walls] = [position(1), position(3), match[5]!];
      visited.add(String(here));
      for (const [wall, action] of WALLS)
        if (!walls.includes(wall)) {
          const place = moved(here, MOVES[action]!);
          seen.set(String(place), place);
        }
      return wayTo(goal, here, visited, seen)[0] ?? "move up";
    },
  };
}

/** The way to the place whose way, and from there straight to the goal, is shortest. */
function wayTo(
  goal: Position,
  here: Position,
  visited: ReadonlySet<string>,
  seen: ReadonlyMap<string, Position>,
): readonly string[] {
  let best: readonly string[] = [];
  let shortest = Infinity;
  for (const [name, place] of seen) {
    if (visited.has(name)) continue;
    const way = shortestMoves(
      here,
      (position) => isSame(position, place),
      (position) => visited.has(String(position)) || isSame(position, place),
    );
    const rest = Math.abs(place[0] - goal[0]) + Math.abs(place[1] - goal[1]);
    if (way === undefined || way.length + rest >= shortest) continue;
    shortest = way.length + rest;
    best = way;
  }
  return best;
}
