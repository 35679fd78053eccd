/**
 * @file Games in a zip, each unpacked when it is asked for.
 */
import { ZipFile } from "../../archive/zip.ts";
import { EnvironmentError } from "../../environment.ts";
import { naming } from "../errors.ts";
import { isMarkedSolvable, LARGEST_GAME_FILE, readGameFile } from "./game-file.ts";
import type { Library } from "./library.ts";
import { type Entry, entryOf, isGamePath, isLeftOut } from "./tasks.ts";

export function openZip(path: string): Library {
  const zip = new ZipFile(path);
  const places = new Map<string, (typeof zip.entries)[number]>();
  const entries: Entry[] = [];
  let leftOut = 0;
  const textOf = (entry: (typeof zip.entries)[number]): string =>
    new TextDecoder().decode(zip.read(entry, LARGEST_GAME_FILE));
  for (const file of zip.entries) {
    if (!file.isFile || !isGamePath(file.path)) continue;
    if (isLeftOut(file.path) || isMarkedSolvable(textOf(file).slice(-8192)) === false) {
      leftOut++;
      continue;
    }
    const entry = entryOf(file.path);
    places.set(entry.id, file);
    entries.push(entry);
  }
  entries.sort((a, b) => (a.id < b.id ? -1 : 1));
  return {
    path,
    entries,
    leftOut,
    read(id) {
      const place = places.get(id);
      if (!place) throw new EnvironmentError("alfworld", `there is no game ${id} in ${path}.`);
      return naming(`${path}/${place.path}`, () => readGameFile(textOf(place)));
    },
  };
}
