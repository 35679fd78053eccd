/**
 * @file Unpacks a zip into a folder, and nothing outside of it.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ArchiveError } from "./error.ts";
import { ZipFile } from "./zip.ts";

export interface UnpackLimits {
  readonly files: number;
  readonly bytesPerFile: number;
  readonly bytes: number;
}

/** Returns how many files there were. Checks every path before it writes the first file. */
export function unpackZip(
  path: string,
  folder: string,
  limits: UnpackLimits,
  onProgress?: (files: number, total: number) => void,
): number {
  const zip = new ZipFile(path);
  try {
    const files = zip.entries.filter((entry) => !entry.path.endsWith("/"));
    if (files.length > limits.files)
      throw new ArchiveError(
        `it holds ${files.length} files; at most ${limits.files} are expected.`,
      );
    const bytes = files.reduce((sum, { size }) => sum + size, 0);
    if (bytes > limits.bytes)
      throw new ArchiveError(`it unpacks to ${bytes} bytes; at most ${limits.bytes} are expected.`);
    for (const file of files) {
      checkPath(file.path);
      if (!file.isFile) throw new ArchiveError(`${file.path} is a link or a device, not a file.`);
    }
    for (const [done, file] of files.entries()) {
      const target = join(folder, file.path);
      const bytes = zip.read(file, limits.bytesPerFile);
      try {
        mkdirSync(dirname(target), { recursive: true });
        // "wx": never through a link that lies there, and never twice the same file.
        writeFileSync(target, bytes, { flag: "wx" });
      } catch (error) {
        throw unwritable(file.path, error as NodeJS.ErrnoException);
      }
      onProgress?.(done + 1, files.length);
    }
    return files.length;
  } finally {
    zip.close();
  }
}

/** Paths that no file system takes are the archive's fault; a full disk is not. */
function unwritable(path: string, error: NodeJS.ErrnoException): Error {
  const reason = {
    EEXIST: "there is a file of that name already, perhaps another of its own",
    ENOTDIR: "a part of its path is a file",
    EISDIR: "there is a folder of that name already",
    ENAMETOOLONG: "its name is too long",
    EINVAL: "no file can have such a name",
  }[error.code ?? ""];
  if (reason === undefined) return error;
  const shown = path.length > 100 ? `${path.slice(0, 100)}…` : path;
  return new ArchiveError(`its file "${shown}" cannot be written: ${reason}.`, { cause: error });
}

/** A path that stays inside whatever folder it is joined to, on every system. */
function checkPath(path: string): void {
  const parts = path.split(/[/\\]/);
  const right =
    parts.every((part) => part !== "" && part !== "." && part !== "..") &&
    !path.includes("\0") &&
    !path.includes(":");
  if (!right) throw new ArchiveError(`it holds the path "${path}", which leads out of its folder.`);
}
