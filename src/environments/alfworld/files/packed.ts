/**
 * @file Games in a tar, which can only be read from beginning to end: all are read at once and kept
 * compactly, some 7 KB each.
 */
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { tarBytes } from "../../archive/files.ts";
import { tarFiles } from "../../archive/tar.ts";
import { EnvironmentError } from "../../environment.ts";
import { GameError, naming } from "../errors.ts";
import { type GameFile, LARGEST_GAME_FILE, readGameFile } from "./game-file.ts";
import type { Library } from "./library.ts";
import { type Entry, entryOf, isGamePath, isLeftOut } from "./tasks.ts";

/** A game file with its problem compressed, or what was wrong with it. */
type Packed =
  | { readonly file: GameFile; readonly problem: Uint8Array }
  | { readonly error: GameError };

export async function openTar(path: string): Promise<Library> {
  const games = new Map<string, Packed>();
  const entries: Entry[] = [];
  let leftOut = 0;
  for await (const { path: inner, bytes } of tarFiles(
    tarBytes(path),
    isGamePath,
    LARGEST_GAME_FILE,
  )) {
    const game = packed(bytes);
    if (isLeftOut(inner) || ("file" in game && !game.file.solvable)) {
      leftOut++;
      continue;
    }
    const entry = entryOf(inner);
    games.set(entry.id, game);
    entries.push(entry);
  }
  entries.sort((a, b) => (a.id < b.id ? -1 : 1));
  return {
    path,
    entries,
    leftOut,
    read(id) {
      const game = games.get(id);
      if (!game) throw new EnvironmentError("alfworld", `there is no game ${id} in ${path}.`);
      return naming(`${path}/${id}`, () => unpacked(game));
    },
  };
}

function packed(bytes: Uint8Array): Packed {
  try {
    const file = readGameFile(new TextDecoder().decode(bytes));
    const problem = deflateRawSync(file.problem, { level: 1 });
    // A copy: what zlib gives is the beginning of a larger buffer.
    return { file: { ...file, problem: "" }, problem: new Uint8Array(problem) };
  } catch (error) {
    if (error instanceof GameError) return { error };
    throw error;
  }
}

/** The problem is unpacked when it is read: who asks for the walkthrough only need not wait. */
function unpacked(game: Packed): GameFile {
  if ("error" in game) throw game.error;
  return {
    ...game.file,
    get problem() {
      return inflateRawSync(game.problem).toString("utf8");
    },
  };
}
