/**
 * @file The files in an archive of any kind that we read, in its own order: .tar, .tar.gz, .tar.xz, .zip.
 */
import { createReadStream, readFileSync, statSync } from "node:fs";
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { ArchiveError } from "./error.ts";
import { type ArchivedFile, tarFiles } from "./tar.ts";
import { decompressXz } from "./xz.ts";
import { ZipFile } from "./zip.ts";

export const ARCHIVES = ".tar, .tar.gz, .tar.xz or .zip";

export function isArchive(path: string): boolean {
  return /\.(tar|tar\.gz|tgz|tar\.xz|txz|zip)$/.test(path);
}

/** Those that `wanted` chooses by their path; one larger than `largest` bytes is an error. */
export async function* archivedFiles(
  path: string,
  wanted: (path: string) => boolean,
  largest: number,
): AsyncGenerator<ArchivedFile> {
  if (!path.endsWith(".zip")) {
    yield* tarFiles(tarBytes(path), wanted, largest);
    return;
  }
  const zip = new ZipFile(path);
  try {
    for (const entry of zip.entries)
      if (entry.isFile && wanted(entry.path))
        yield { path: entry.path, bytes: zip.read(entry, largest) };
  } finally {
    zip.close();
  }
}

/** Bytes that a small archive may hold, and how many times its own bytes beyond that. */
const SMALL = 2e9;
const MOST_TIMES = 100;

/** The bytes of a tar, decompressed as its name says. More than honest data becomes is an error. */
export function tarBytes(path: string): AsyncIterable<Uint8Array> | Iterable<Uint8Array> {
  const file = () => createReadStream(path, { highWaterMark: 1 << 20 });
  if (path.endsWith(".tar")) return file();
  const most = SMALL + MOST_TIMES * statSync(path).size;
  return atMost(
    most,
    path.endsWith("xz") ? decompressXz(readFileSync(path)) : decompressGzip(file()),
  );
}

async function* atMost(
  most: number,
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let count = 0;
  for await (const piece of pieces) {
    count += piece.length;
    if (count > most)
      throw new ArchiveError(
        `it unpacks to more than ${most} bytes, a hundred times its size and more: no data does.`,
      );
    yield piece;
  }
}

async function* decompressGzip(file: Readable): AsyncGenerator<Uint8Array> {
  const unzipped = createGunzip();
  file.on("error", (error) => unzipped.destroy(error));
  try {
    yield* file.pipe(unzipped) as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw new ArchiveError(`it is damaged, or not gzip (${(error as Error).message}).`);
  } finally {
    file.destroy();
  }
}
