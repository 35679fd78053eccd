/**
 * @file What is wrong with a game, found while reading it. Whoever knows which file it was adds that
 * and throws an EnvironmentError.
 */
import { EnvironmentError } from "../environment.ts";

export class GameError extends Error {
  override name = "GameError";
}

/** Runs `read`; a GameError in it becomes an EnvironmentError that names the game. */
export function naming<Result>(game: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof GameError)) throw error;
    throw new EnvironmentError("alfworld", `the game ${game} cannot be used: ${error.message}`, {
      cause: error,
    });
  }
}
