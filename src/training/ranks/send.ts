/**
 * @file A folder of rank 0's for every rank: where a machine has no share in rank 0's file system, a copy.
 */
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Ranks } from "./ranks.ts";

export interface FolderOfFirst {
  readonly path: string;
  /** Removes the copy, where there is one. */
  dispose(): void;
}

interface ListedFile {
  readonly name: string;
  readonly size: number;
  readonly changed: number;
}

/** Bytes that are sent at once. */
const PIECE = 2 ** 24;

/** All ranks call it; whoever does not see the folder as rank 0 does gets what is in it. */
export function folderOfFirst(ranks: Ranks, path: string): FolderOfFirst {
  const asItIs = { path, dispose() {} };
  if (ranks.size === 1) return asItIs;
  const files = ranks.broadcast(ranks.isFirst ? filesIn(path) : []);
  const sees = JSON.stringify(filesIn(path)) === JSON.stringify(files);
  if (!ranks.any(!sees)) return asItIs;
  const copy = sees ? undefined : mkdtempSync(join(tmpdir(), "openmanus-rl-"));
  for (const { name, size } of files)
    sendFile(ranks, join(path, name), size, copy && join(copy, name));
  if (copy === undefined) return asItIs;
  return { path: copy, dispose: () => rmSync(copy, { recursive: true, force: true }) };
}

function filesIn(folder: string): ListedFile[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .sort()
    .flatMap((name) => {
      const found = statSync(join(folder, name));
      return found.isFile() ? [{ name, size: found.size, changed: found.mtimeMs }] : [];
    });
}

function sendFile(ranks: Ranks, source: string, size: number, target: string | undefined): void {
  if (target !== undefined) mkdirSync(dirname(target), { recursive: true });
  const from = ranks.isFirst ? openSync(source, "r") : undefined;
  const to = target === undefined ? undefined : openSync(target, "wx");
  try {
    for (let sent = 0; sent < size; sent += PIECE) {
      const piece = new Uint8Array(from === undefined ? 0 : Math.min(PIECE, size - sent));
      if (from !== undefined) readSync(from, piece, 0, piece.length, sent);
      const received = ranks.broadcast(piece);
      if (to !== undefined) writeSync(to, received);
    }
  } finally {
    if (from !== undefined) closeSync(from);
    if (to !== undefined) closeSync(to);
  }
}
