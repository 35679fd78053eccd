/**
 * @file The trajectory store: a folder with a file of JSON lines per iteration, appended to as episodes
 * end.
 *
 * Crash-safe: a line counts when its end is written; a torn last line is cut off when the folder is
 * opened again. Old files are compressed, and have their index (which episode stands where) beside them;
 * those of the others are made from the lines when the folder is opened.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { basename, join } from "node:path";
import { makeFolder, naming } from "../../folders/index.ts";
import type { Trajectory } from "../trajectory.ts";
import {
  compressLines,
  expandLines,
  readLine,
  readLines,
  repairLines,
  type Span,
  settleCompression,
} from "./files.ts";
import { readIndex, removeIndex, type StoredEpisode, writeIndex } from "./index-file.ts";
import { fromLine, TrajectoryLineError, toLine } from "./line.ts";

export interface StoreOptions {
  /** Iterations whose files stay uncompressed. Default 4. */
  readonly uncompressed?: number;
}

export interface TrajectoryStore {
  readonly folder: string;
  /** Bytes of torn lines that were cut off when it was opened. */
  readonly repaired: number;
  /** In the order in which they were stored. */
  episodes(): readonly StoredEpisode[];
  append(trajectory: Trajectory): void;
  /** Throws if there is no such episode. */
  read(id: string): Trajectory;
  /** Forgets iterations from this one on: a resumed run plays them again. */
  truncate(step: number): void;
  /** What was appended is on the disk after this. */
  flush(): void;
  close(): void;
}

/** The iteration's number, at least six digits. */
const FILE = /^(\d{6,})\.jsonl(\.gz)?$/;

export function openTrajectoryStore(folder: string, options: StoreOptions = {}): TrajectoryStore {
  const { uncompressed = 4 } = options;
  makeFolder(folder);
  const index = new Map<string, StoredEpisode>();
  let repaired = 0;
  for (const file of dataFiles(folder)) {
    if (file.endsWith(".jsonl")) repaired += repairLines(file);
    for (const episode of readIndex(file) ?? indexOf(file)) index.set(episode.id, episode);
  }
  let current: { step: number; file: string; descriptor: number; size: number } | undefined;

  function writer(step: number) {
    if (current?.step === step) return current;
    closeCurrent();
    const file = join(folder, `${String(step).padStart(6, "0")}.jsonl`);
    if (existsSync(`${file}.gz`)) {
      // An episode of an old iteration that comes late: its file is opened again.
      expandLines(file);
      removeIndex(`${file}.gz`);
      move(`${file}.gz`, file);
    }
    compressOld(step);
    const descriptor = openSync(file, "a");
    current = { step, file, descriptor, size: statSync(file).size };
    return current;
  }

  function closeCurrent(): void {
    if (!current) return;
    const { file, descriptor } = current;
    current = undefined;
    try {
      naming(file, () => fsyncSync(descriptor));
    } finally {
      closeSync(descriptor);
    }
  }

  /** Nothing depends on it: on a full disk files stay as they are, and the next iteration tries again. */
  function compressOld(step: number): void {
    for (const file of dataFiles(folder)) {
      if (file.endsWith(".gz") || stepOf(file) > step - uncompressed) continue;
      try {
        const compressed = compressLines(file);
        writeIndex(compressed, move(file, compressed));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === undefined) throw error;
        return;
      }
    }
  }

  /** The file has another name now. */
  function move(file: string, target: string): StoredEpisode[] {
    const moved = [...index.values()]
      .filter((episode) => episode.file === file)
      .map((episode) => ({ ...episode, file: target }));
    for (const episode of moved) index.set(episode.id, episode);
    return moved;
  }

  return {
    folder,
    repaired,
    episodes: () => [...index.values()],
    append(trajectory) {
      const line = Buffer.from(`${toLine(trajectory)}\n`);
      const target = writer(trajectory.step);
      write(target, line);
      const span = { offset: target.size, length: line.length - 1 };
      target.size += line.length;
      index.set(trajectory.id, entryOf(trajectory, target.file, span));
    },
    read(id) {
      const episode = index.get(id);
      if (!episode) throw new Error(`${folder}: there is no episode "${id}"`);
      return parsed(episode.file, readLine(episode.file, episode), episode.offset);
    },
    truncate(step) {
      closeCurrent();
      for (const file of dataFiles(folder)) {
        if (stepOf(file) < step) continue;
        for (const [id, episode] of index) if (episode.file === file) index.delete(id);
        rmSync(file);
        removeIndex(file);
      }
    },
    flush() {
      const { file, descriptor } = current ?? {};
      if (file !== undefined) naming(file, () => fsyncSync(descriptor!));
    },
    close: closeCurrent,
  };
}

/** All of a line, or nothing of it: one that is written in part would be taken for the next one's beginning. */
function write(target: { file: string; descriptor: number; size: number }, line: Buffer): void {
  try {
    naming(target.file, () => {
      for (let written = 0; written < line.length; )
        written += writeSync(target.descriptor, line, written);
    });
  } catch (error) {
    try {
      ftruncateSync(target.descriptor, target.size);
    } catch {
      // A torn last line is cut off when the folder is opened again.
    }
    throw error;
  }
}

/**
 * Every trajectory of a file (.jsonl, .jsonl.gz), of a store's folder, or of the folder of a run or a
 * rollout, read one by one.
 */
export function* readTrajectories(path: string): Generator<Trajectory> {
  if (!existsSync(path)) throw new TrajectoryLineError(`${path}: there is no such file or folder`);
  const files = statSync(path).isDirectory()
    ? storesIn(path).flatMap((store) => dataFiles(store, false))
    : [path];
  if (!files.every((file) => /\.jsonl(\.gz)?$/.test(file)))
    throw new TrajectoryLineError(
      `${path}: is no file of trajectories (.jsonl, .jsonl.gz), and no folder of them`,
    );
  for (const file of files) {
    const { bytes, spans } = readLines(file);
    for (const span of spans) yield parsed(file, textOf(bytes, span), span.offset);
  }
}

/**
 * For whoever only looks: the files of a store's folder, what their index says, and an episode of it. Nothing is mended,
 * and a run may be writing meanwhile.
 */
export const episodeFiles = (folder: string): string[] =>
  existsSync(folder) ? dataFiles(folder, false) : [];

export function readEpisodeIndex(file: string): StoredEpisode[] {
  return (file.endsWith(".gz") ? readIndex(file) : undefined) ?? indexOf(file);
}

export function readStoredEpisode(
  episode: Pick<StoredEpisode, "file" | "offset" | "length">,
): Trajectory {
  return parsed(episode.file, readLine(episode.file, episode), episode.offset);
}

/** A run, or a rollout, has its store in its folder; of several ranks, each has one: trajectories-0, … */
function storesIn(path: string): string[] {
  const inside = readdirSync(path, { withFileTypes: true }).filter(
    (entry) => entry.isDirectory() && /^trajectories(-\d+)?$/.test(entry.name),
  );
  return inside.length === 0 ? [path] : inside.map(({ name }) => join(path, name)).sort();
}

/** The data files of a folder in the order of their steps. `settle` mends what a crash left. */
function dataFiles(folder: string, settle = true): string[] {
  const names = readdirSync(folder).filter((name) => FILE.test(name));
  if (settle) for (const name of names) settleCompression(join(folder, name.replace(/\.gz$/, "")));
  const left = settle ? readdirSync(folder).filter((name) => FILE.test(name)) : names;
  return left.sort((a, b) => stepOf(a) - stepOf(b)).map((name) => join(folder, name));
}

function stepOf(file: string): number {
  return Number(FILE.exec(basename(file))![1]);
}

function indexOf(file: string): StoredEpisode[] {
  const { bytes, spans } = readLines(file);
  return spans.map((span) => entryOf(parsed(file, textOf(bytes, span), span.offset), file, span));
}

function textOf(bytes: Buffer, { offset, length }: Span): string {
  return bytes.toString("utf8", offset, offset + length);
}

function parsed(file: string, line: string, offset: number): Trajectory {
  try {
    return fromLine(line);
  } catch (error) {
    if (!(error instanceof TrajectoryLineError)) throw error;
    throw new TrajectoryLineError(
      `${file}, at byte ${offset}: ${error.message}. The line was altered; take it out of the file.`,
    );
  }
}

function entryOf(trajectory: Trajectory, file: string, { offset, length }: Span): StoredEpisode {
  const { id, step, status, won, reward, turns, task, group, dropped } = trajectory;
  return {
    id,
    step,
    status,
    won,
    reward,
    turns: turns.length,
    type: task.type,
    task: task.id,
    group,
    ...(dropped !== undefined && { dropped }),
    file,
    offset,
    length,
  };
}
