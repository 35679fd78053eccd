/**
 * @file Where an episode stands, and what the six low-level actions do.
 */
import type { Beginning } from "../level/generate.ts";
import { inFront, type Point, type Thing } from "../thing.ts";
import { type Action, firstProgress, judged, lookedAgain, type Progress } from "./progress.ts";

/** Replaced, never changed. */
export interface Game {
  readonly width: number;
  readonly height: number;
  readonly cells: readonly (Thing | undefined)[];
  readonly agent: Point;
  readonly direction: number;
  readonly carried: Thing | undefined;
  readonly steps: number;
  readonly limit: number;
  readonly progress: Progress;
}

export function begunGame(beginning: Beginning): Game {
  const { width, height, agent, direction, carried, limit, mission } = beginning;
  const cells = carried
    ? beginning.cells.map((thing) => (thing?.id === carried.id ? undefined : thing))
    : beginning.cells;
  const progress = firstProgress(beginning, mission);
  return { width, height, cells, agent, direction, carried, steps: 0, limit, progress };
}

export function thingAt({ cells, width }: Game, { x, y }: Point): Thing | undefined {
  return cells[y * width + x];
}

export interface Acted {
  readonly game: Game;
  /** The mission is over, one way or the other. */
  readonly isOver: boolean;
  /** The sooner, the more: 1 − 0.9 · steps / limit on success. */
  readonly reward: number;
}

export function acted(before: Game, action: Action): Acted {
  const moved = { ...changed(before, action), steps: before.steps + 1 };
  const situation = { ...moved, front: inFront(moved.agent, moved.direction) };
  const progress = action === "drop" ? lookedAgain(moved.progress, situation) : moved.progress;
  const judgement = judged(progress, action, situation);
  return {
    game: { ...moved, progress: judgement.progress },
    isOver: judgement.verdict !== "continue",
    reward: judgement.verdict === "success" ? 1 - 0.9 * (moved.steps / moved.limit) : 0,
  };
}

function changed(game: Game, action: Action): Game {
  const front = inFront(game.agent, game.direction);
  const ahead = thingAt(game, front);
  const replaced = (thing: Thing | undefined): (Thing | undefined)[] => {
    const cells = [...game.cells];
    cells[front.y * game.width + front.x] = thing;
    return cells;
  };
  switch (action) {
    case "left":
      return { ...game, direction: (game.direction + 3) % 4 };
    case "right":
      return { ...game, direction: (game.direction + 1) % 4 };
    case "forward":
      return !ahead || ahead.state === "open" ? { ...game, agent: front } : game;
    case "pickup":
      return ahead && ahead.kind !== "door" && ahead.kind !== "wall" && !game.carried
        ? { ...game, cells: replaced(undefined), carried: ahead }
        : game;
    case "drop":
      return !ahead && game.carried
        ? { ...game, cells: replaced(game.carried), carried: undefined }
        : game;
    case "toggle": {
      if (ahead?.kind === "box") return { ...game, cells: replaced(ahead.contains) };
      if (ahead?.kind !== "door") return game;
      const hasKey = game.carried?.kind === "key" && game.carried.color === ahead.color;
      if (ahead.state === "locked" && !hasKey) return game;
      const state = ahead.state === "open" ? "closed" : "open";
      return { ...game, cells: replaced({ ...ahead, state }) };
    }
  }
}
