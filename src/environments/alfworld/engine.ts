/**
 * @file The engine's parts, for tools and tests that look below the interface of worlds.
 */

export { admissibleCommands } from "./admissible.ts";
export { compileGame, type Game } from "./game.ts";
export { type GameFile, gameOf, readGameFile } from "./game-file.ts";
export { type Library, openLibrary } from "./library.ts";
export { shortestPlan } from "./planner.ts";
export { play } from "./play.ts";
export { readProblem } from "./problem.ts";
export type { Entry } from "./tasks.ts";
