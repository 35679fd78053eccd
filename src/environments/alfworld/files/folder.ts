/**
 * @file Games in a folder, each read when it is asked for.
 */
import {
  closeSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  statSync,
} from "node:fs";
import { join, relative, resolve, sep } from "node:path";
import { EnvironmentError } from "../../environment.ts";
import { naming } from "../errors.ts";
import { isMarkedSolvable, LARGEST_GAME_FILE, readGameFile } from "./game-file.ts";
import type { Library } from "./library.ts";
import { type Entry, entryOf, isGamePath, isLeftOut, OTHER_SPLIT } from "./tasks.ts";

/** Deeper than any real layout; ends the walk where links lead in circles. */
const DEEPEST = 12;

/** A folder, or the path of one game. */
export function openFolder(root: string): Library {
  const paths = new Map<string, string>();
  const entries: Entry[] = [];
  let leftOut = 0;
  for (const path of gamePaths(root, 0)) {
    // Of the path below the root: what the user calls the folders above is no affair of ours.
    if (isLeftOut(path.slice(root.length)) || isUnsolvable(path)) {
      leftOut++;
      continue;
    }
    const entry = uniqueEntry(root, path, paths);
    paths.set(entry.id, path);
    entries.push(entry);
  }
  entries.sort((a, b) => (a.id < b.id ? -1 : 1));
  return {
    path: root,
    entries,
    leftOut,
    read(id) {
      const path = paths.get(id);
      if (path === undefined)
        throw new EnvironmentError("alfworld", `there is no game ${id} in ${root}.`);
      return naming(path, () => readGameFile(readText(path)));
    },
  };
}

function uniqueEntry(root: string, path: string, taken: ReadonlyMap<string, string>): Entry {
  const inside = entryOf(slashed(relative(root, path) || path));
  // The folder of one split, or something inside it, may be given.
  const entry = inside.split === OTHER_SPLIT ? entryOf(slashed(resolve(path))) : inside;
  const chosen = entry.split === OTHER_SPLIT ? inside : entry;
  // Two versions of the data below one root would share ids.
  return taken.has(chosen.id) ? { ...chosen, id: slashed(path) } : chosen;
}

function slashed(path: string): string {
  return path.replaceAll(sep, "/");
}

function* gamePaths(path: string, depth: number): Generator<string> {
  if (isGamePath(path) && statSync(path).isFile()) {
    yield path;
    return;
  }
  if (depth > DEEPEST) return;
  const members = readdirSync(path, { withFileTypes: true });
  for (const member of members.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const inner = join(path, member.name);
    if (member.isFile()) {
      if (isGamePath(member.name)) yield inner;
    } else if (member.isDirectory() || isLinkToFolder(inner)) {
      yield* gamePaths(inner, depth + 1);
    }
  }
}

function isLinkToFolder(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && (found.isDirectory() || isGamePath(path));
}

function readText(path: string): string {
  try {
    if (statSync(path).size > 4 * LARGEST_GAME_FILE) throw new Error("it is too large");
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new EnvironmentError(
      "alfworld",
      `the game ${path} cannot be read: ${(error as Error).message}`,
      { cause: error },
    );
  }
}

/** Far more than the walkthrough and the mark before it need. */
const TAIL = 8192;

/** What cannot be read counts as solvable, so that somebody notices. */
function isUnsolvable(path: string): boolean {
  let file: number | undefined;
  try {
    file = openSync(path, "r");
    const { size } = fstatSync(file);
    const tail = Buffer.alloc(Math.min(size, TAIL));
    readSync(file, tail, 0, tail.length, size - tail.length);
    return !(isMarkedSolvable(tail.toString("latin1")) ?? readGameFile(readText(path)).solvable);
  } catch {
    return false;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
