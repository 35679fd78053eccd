/**
 * @file A collection of game files: a folder, an archive, or a single file.
 */
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { ArchiveError } from "../../archive/error.ts";
import { EnvironmentError } from "../../environment.ts";
import { openFolder } from "./folder.ts";
import type { GameFile } from "./game-file.ts";
import { openTar } from "./packed.ts";
import type { Entry } from "./tasks.ts";
import { openZip } from "./zipped.ts";

export interface Library {
  /** The folder or archive. */
  readonly path: string;
  /** The games, sorted by id: those that the original would play. */
  readonly entries: readonly Entry[];
  /** How many games were left out, as the original leaves them out: unsolvable, movable or Sliced. */
  readonly leftOut: number;
  /** Throws EnvironmentError, with the file's name, when the file is broken. */
  read(id: string): GameFile;
}

const ARCHIVES = ".tar, .tar.gz, .tar.xz or .zip";

/** Opens a folder (json_2.1.1, or any above or below it), an archive, or one game.tw-pddl. */
export async function openLibrary(path: string): Promise<Library> {
  if (!existsSync(path))
    throw new EnvironmentError(
      "alfworld",
      `there is nothing at ${path}. Give a folder with game.tw-pddl files or a ${ARCHIVES} of one; ` +
        "openmanus-rl data get alfworld downloads the official games.",
    );
  const library = await open(path).catch((error: unknown) => {
    if (!(error instanceof ArchiveError)) throw error;
    throw new EnvironmentError("alfworld", `${path} cannot be read: ${error.message}`, {
      cause: error,
    });
  });
  if (library.entries.length === 0)
    throw new EnvironmentError(
      "alfworld",
      `${path} holds no games that can be played (${library.leftOut} were left out). ` +
        `Games are files named game.tw-pddl; ${whereElse(path)}?`,
    );
  return library;
}

/** What somebody may have meant by a path without games. */
function whereElse(path: string): string {
  const inside = statSync(path).isDirectory() ? readdirSync(path).sort() : [];
  const archive = inside.find((name) => ZIP.test(name) || TAR.test(name));
  return archive === undefined
    ? "is this the folder json_2.1.1"
    : `are they in ${join(path, archive)}`;
}

const ZIP = /\.zip$/;
const TAR = /\.(tar|tar\.gz|tgz|tar\.xz|txz)$/;

async function open(path: string): Promise<Library> {
  if (statSync(path).isDirectory() || path.endsWith(".tw-pddl")) return openFolder(path);
  if (ZIP.test(path)) return openZip(path);
  if (TAR.test(path)) return openTar(path);
  throw new EnvironmentError(
    "alfworld",
    `${path} is neither a folder nor a ${ARCHIVES}. Unpack it and give the folder.`,
  );
}
