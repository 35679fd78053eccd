/**
 * @file Fetches the official games: the archive that the original's own downloader gets.
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { ArchiveError } from "../../archive/error.ts";
import { unpackZip } from "../../archive/unpack.ts";
import type { Dataset, GetOptions } from "../../data/datasets.ts";
import { DownloadError, download } from "../../data/download.ts";
import { rememberSums, requireKnownSum } from "../../data/sums.ts";
import { EnvironmentError } from "../../environment.ts";
import { naming } from "../errors.ts";
import { DEFAULT_DATA_FOLDER } from "../index.ts";
import { gameOf } from "./game-file.ts";
import { type Library, openLibrary } from "./library.ts";

/** The real archive has some 90 MB and 4 thousand games; whatever is far beyond that is not it. */
const LARGEST_DOWNLOAD = 4e9;
const LIMITS = { files: 200_000, bytesPerFile: 256e6, bytes: 40e9 };

const ARCHIVE = "json_2.1.3_tw-pddl.zip";

export const alfworldData: Dataset = {
  summary: `ALFWorld's text games (${ARCHIVE} of its release 0.4.2)`,
  url: `https://github.com/alfworld/alfworld/releases/download/0.4.2/${ARCHIVE}`,
  folder: DEFAULT_DATA_FOLDER,
  async get(options) {
    try {
      return await get(options);
    } catch (error) {
      if (!(error instanceof DownloadError || error instanceof ArchiveError)) throw error;
      const about = error instanceof ArchiveError ? `the archive ${options.url}: ` : "";
      throw new EnvironmentError("alfworld", `${about}${error.message}`, { cause: error });
    }
  },
};

async function get(options: GetOptions): Promise<string> {
  const { url, folder, onProgress } = options;
  if (existsSync(folder) && readdirSync(folder).length > 0) {
    const library = await openLibrary(folder).catch(() => undefined);
    if (library) return `${folder} already has them: ${described(library)}.`;
    throw new EnvironmentError(
      "alfworld",
      `${folder} exists and holds something else. Remove it, or give another folder with --to.`,
    );
  }
  // Beside the folder, so that the last step is a rename on one file system.
  const work = `${folder}.download`;
  mkdirSync(work, { recursive: true });
  const archive = join(work, basename(new URL(url).pathname) || "games.zip");
  const { bytes, sha256 } = await download({
    url,
    file: archive,
    largest: LARGEST_DOWNLOAD,
    onProgress: (received, total) => onProgress?.("downloading", received, total),
  });
  requireKnownSum({ name: ARCHIVE, url, file: archive, sha256 }, options);
  const unpacked = join(work, "unpacked");
  rmSync(unpacked, { recursive: true, force: true });
  unpackZip(archive, unpacked, LIMITS, (done, total) => onProgress?.("unpacking", done, total));
  const library = await verified(unpacked);
  rememberSums([{ name: ARCHIVE, sha256 }], options);
  const record = { url, bytes, sha256, games: library.entries.length };
  writeFileSync(join(unpacked, "download.json"), `${JSON.stringify(record, null, 2)}\n`);
  mkdirSync(dirname(folder), { recursive: true });
  if (existsSync(folder)) rmdirSync(folder);
  renameSync(unpacked, folder);
  rmSync(work, { recursive: true, force: true });
  return `${described(library)} are in ${folder} (${bytes} bytes, sha256 ${sha256}).`;
}

/** The archive must hold games, and those that are looked at must be whole. */
async function verified(folder: string): Promise<Library> {
  const library = await openLibrary(folder);
  const { entries } = library;
  const step = Math.max(1, Math.floor(entries.length / 20));
  for (let i = 0; i < entries.length; i += step) {
    const { id } = entries[i]!;
    naming(id, () => gameOf(library.read(id)));
  }
  return library;
}

function described({ entries }: Library): string {
  const counts = new Map<string, number>();
  for (const { split } of entries) counts.set(split, (counts.get(split) ?? 0) + 1);
  const splits = [...counts].map(([split, count]) => `${split} ${count}`);
  return `${entries.length} games (${splits.join(", ")})`;
}
