/**
 * @file The index of a compressed file of trajectories, beside it: so that opening a long run does not
 * read all its episodes. It is only a copy of what the lines say; one that does not fit is ignored.
 */
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import type { EpisodeStatus } from "../trajectory.ts";
import type { Span } from "./files.ts";

/** What the index knows of an episode. */
export interface StoredEpisode extends Span {
  readonly id: string;
  readonly step: number;
  readonly status: EpisodeStatus;
  readonly won: boolean;
  readonly reward: number;
  readonly turns: number;
  readonly type: string | undefined;
  /** The task's id, and the group. Absent in indexes of earlier versions. */
  readonly task?: string | undefined;
  readonly group?: string | undefined;
  /** Why it was not trained on, where it was left out. */
  readonly dropped?: string | undefined;
  /** The file it stands in. */
  readonly file: string;
}

interface IndexFile {
  /** Of the compressed file that it belongs to. */
  size: number;
  episodes: Omit<StoredEpisode, "file">[];
}

export function indexPath(file: string): string {
  return `${file}.index.json`;
}

export function writeIndex(file: string, episodes: readonly StoredEpisode[]): void {
  const content: IndexFile = {
    size: statSync(file).size,
    episodes: episodes.map(({ file: _, ...rest }) => rest),
  };
  writeFileSync(indexPath(file), JSON.stringify(content));
}

/** Undefined where there is none, or one that a crash tore or that belongs to another file. */
export function readIndex(file: string): StoredEpisode[] | undefined {
  try {
    const { size, episodes } = JSON.parse(readFileSync(indexPath(file), "utf8")) as IndexFile;
    if (size !== statSync(file).size) return undefined;
    return episodes.map((episode) => ({ ...episode, file }));
  } catch {
    return undefined;
  }
}

export function removeIndex(file: string): void {
  rmSync(indexPath(file), { force: true });
}
