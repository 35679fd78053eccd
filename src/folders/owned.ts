/**
 * @file Whose folder is this? A run writes into folders that people name, and begins anew in them: so it
 * must know what there it made itself. A marker lists that. What is not in the list is somebody else's:
 * never replaced, never removed.
 */
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { writeText } from "./durable.ts";
import { FolderError, written } from "./errors.ts";

/** Who works in a folder. */
export type FolderKind = "run" | "rollout" | "fine-tuning";

interface Marker {
  readonly version: 1;
  readonly kind: FolderKind;
  readonly id: string;
  /** Names in the folder. */
  readonly made: readonly string[];
  /** Where an earlier one's things are, while it is not sure that they can go. */
  readonly previous?: string;
}

export const MARKER_FILE = ".openmanus-rl.json";

export interface OwnedFolder {
  readonly path: string;
  /** Whether somebody of this kind was here before. */
  readonly isKnown: boolean;
  /** Throws where one of these names is there and not of its making. Writes nothing. */
  requireFree(names: readonly string[]): void;
  /** The same; from now on they are its own. To be called before they are made. */
  claim(names: readonly string[]): void;
  /** Takes over what a version before markers left; only for whoever is sure. */
  adopt(names: readonly string[]): void;
  /** Removes what it made, but for these names. */
  clear(keep?: readonly string[]): void;
  /** To begin anew: puts all that it made aside, until it is sure that the new one can be. */
  setAside(): void;
  /** The new one cannot be: everything back in its place. */
  restorePrevious(): void;
  /** The new one has begun. */
  discardPrevious(): void;
  /** Takes the marker away where nothing was made. */
  leave(): void;
}

/** Only for whoever holds the folder's lock. Throws where it is of another kind. */
export function ownedFolder(path: string, kind: FolderKind): OwnedFolder {
  const file = join(path, MARKER_FILE);
  const found = readMarker(file);
  if (found && found.kind !== kind)
    throw new FolderError(
      `${path} is the folder of a ${found.kind}, not of a ${kind}: what is there would be lost. ` +
        "Choose another folder.",
    );
  let marker: Marker = found ?? { version: 1, kind, id: randomUUID(), made: [] };
  let isAside = false;

  const write = (next: Marker) => {
    written(path, () => writeText(file, `${JSON.stringify(next, null, 1)}\n`));
    marker = next;
  };
  const add = (names: readonly string[]) => {
    const made = [...new Set([...marker.made, ...names])];
    if (made.length > marker.made.length) write({ ...marker, made });
  };
  const present = () => marker.made.filter((name) => existsSync(join(path, name)));
  const remove = (name: string) => rmSync(join(path, name), { recursive: true, force: true });
  const requireFree = (names: readonly string[]) => {
    const foreign = names.find(
      (name) => existsSync(join(path, name)) && !marker.made.includes(name),
    );
    if (foreign === undefined) return;
    throw new FolderError(
      `${path}: there is ${foreign} already, which no ${kind} made in this folder (${MARKER_FILE} lists ` +
        `what one did); it would be lost. Choose another folder, or move ${foreign} away.`,
    );
  };

  return {
    path,
    isKnown: found !== undefined,
    requireFree,
    claim(names) {
      requireFree(names);
      add(names);
    },
    adopt: (names) => add(names.filter((name) => existsSync(join(path, name)))),
    clear(keep = []) {
      for (const name of present()) if (!keep.includes(name)) remove(name);
    },
    setAside() {
      // What a killed beginning made is nothing to come back to; what it had put aside is.
      if (marker.previous !== undefined) {
        for (const name of present()) remove(name);
        isAside = true;
        return;
      }
      const names = present();
      if (names.length === 0) return;
      const previous = `.previous-${randomUUID()}`;
      mkdirSync(join(path, previous));
      write({ ...marker, previous });
      for (const name of names) renameSync(join(path, name), join(path, previous, name));
      isAside = true;
    },
    restorePrevious() {
      const { previous, ...rest } = marker;
      if (previous === undefined) return;
      // Put aside only in part, what still is in its place is the earlier one's.
      if (isAside) for (const name of present()) remove(name);
      for (const name of readdirSync(join(path, previous)))
        renameSync(join(path, previous, name), join(path, name));
      remove(previous);
      isAside = false;
      write(rest);
    },
    discardPrevious() {
      const { previous, ...rest } = marker;
      if (previous === undefined) return;
      remove(previous);
      write(rest);
    },
    leave() {
      if (present().length > 0 || marker.previous !== undefined) return;
      try {
        rmSync(file, { force: true });
      } catch {
        // The disk can only be read by now; a marker that lists nothing does no harm.
      }
    },
  };
}

function readMarker(file: string): Marker | undefined {
  if (!existsSync(file)) return undefined;
  let marker: Marker | undefined;
  try {
    marker = JSON.parse(readFileSync(file, "utf8")) as Marker;
  } catch {
    // Told below.
  }
  const isWhole =
    marker?.version === 1 &&
    typeof marker.kind === "string" &&
    Array.isArray(marker.made) &&
    [...marker.made, marker.previous ?? "x"].every(isOwnName);
  if (isWhole) return marker;
  throw new FolderError(
    `${file}: cannot be read, so it is not known what in this folder may be replaced. Remove the file if ` +
      "the folder is a run's (its checkpoints are whole or say that they are not), or choose another folder.",
  );
}

/** A marker is a file like others: names in it must not lead out of the folder. */
function isOwnName(name: unknown): boolean {
  return typeof name === "string" && /^[^/\\]+$/.test(name) && name !== "." && name !== "..";
}
