/**
 * @file The files in an archive of any kind that we read, in its own order: .tar, .tar.gz, .tar.xz, .zip.
 */
import { createReadStream, readFileSync } from "node:fs";
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

/** The bytes of a tar, decompressed as its name says. */
export function tarBytes(path: string): AsyncIterable<Uint8Array> | Iterable<Uint8Array> {
  if (path.endsWith("xz")) return decompressXz(readFileSync(path));
  const file = createReadStream(path, { highWaterMark: 1 << 20 });
  return path.endsWith(".tar") ? file : decompressGzip(file);
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
