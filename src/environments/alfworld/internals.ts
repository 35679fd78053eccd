/**
 * @file The engine's parts, for tools and tests that look below the interface of worlds.
 */

export { admissibleCommands } from "./engine/admissible.ts";
export { compileGame, type Game } from "./engine/game.ts";
export { play } from "./engine/play.ts";
export { type GameFile, gameOf, readGameFile } from "./files/game-file.ts";
export { type Library, openLibrary } from "./files/library.ts";
export type { Entry } from "./files/tasks.ts";
export { readProblem } from "./pddl/problem.ts";
export { shortestPlan } from "./planner/planner.ts";
