/**
 * @file The episodes of a run as a table that grows while the run writes, and what can be asked of it.
 */
import { statSync } from "node:fs";
import { FAILURES, failureOf } from "../../evaluation/index.ts";
import {
  episodeFiles,
  readEpisodeIndex,
  readStoredEpisode,
  readTrajectories,
  type StoredEpisode,
  type Trajectory,
} from "../../rollout/index.ts";
import type { EpisodeList, EpisodeRow, FailureClass, FailureList } from "../api.ts";
import { type EpisodeQuery, fits, listed, sorted, typesOf } from "./query.ts";

/** Milliseconds for which what was looked at is new enough for who asks. */
const FRESH = 500;
/** Milliseconds after which a change of names is not followed by another of the same time. */
const SETTLED = 2000;
/** Milliseconds for looking for a text. */
const SEARCH = 1500;
/** Texts that need not be looked through. */
const FEW_TEXTS = 256;

export interface EpisodeTable {
  /**
   * Looks for new files and lines, if somebody has asked for episodes before: a long run has thousands of files. Returns
   * whether there are any.
   */
  update(): boolean;
  readonly length: number;
  row(id: string): EpisodeRow | undefined;
  find(query: EpisodeQuery, isRecorded: (id: string, step: number) => boolean): EpisodeList;
  /** Why those that fit and were not won were not; the newest first, as many as can be read in the time. */
  failures(query: EpisodeQuery): FailureList;
  /** Rows that fit, without limits. */
  rows(fits: (row: EpisodeRow) => boolean): EpisodeRow[];
  read(id: string): Trajectory | undefined;
}

interface KnownFile {
  readonly size: number;
  readonly changed: number;
  readonly rows: readonly StoredRow[];
}

/** A row, and where its episode stands. There may be hundreds of thousands: nothing is in it twice. */
type StoredRow = EpisodeRow & Pick<StoredEpisode, "file" | "offset" | "length">;

export function openEpisodeTable(folder: string): EpisodeTable {
  const files = new Map<string, KnownFile>();
  let all: StoredRow[] = [];
  /** Made when it is first asked for: a run that writes changes it all the time. */
  let byId: Map<string, StoredRow> | undefined;
  let types: readonly string[] = [];
  let looked: number | undefined;
  /** When the folder's names last changed. */
  let named = 0;
  /** The one copy of each text that many rows have. */
  const texts = new Map<string, string>();
  const kept = (text: string): string => {
    if (!texts.has(text)) texts.set(text, text);
    return texts.get(text)!;
  };

  /** When to look for texts that no row has any more: a run that is begun again in its folder leaves all of its own. */
  let mostTexts = FEW_TEXTS;
  function forget(): void {
    texts.clear();
    for (const { status, type, task, group, dropped } of all)
      for (const text of [status, type, task, group, dropped])
        if (text !== undefined) texts.set(text, text);
    mostTexts = Math.max(FEW_TEXTS, 2 * texts.size);
  }

  /** For whoever asks: up to date, but for the last moment. */
  function current(): StoredRow[] {
    if (looked === undefined || performance.now() - looked > FRESH) look();
    return all;
  }

  /** Compressed files come and go by their names: where those are the same, only the others are looked at. */
  function filesNow(): { found: ReadonlySet<string>; isKnown: (file: string) => boolean } {
    const now = modified(folder);
    const isSettled = now === named && Date.now() - now > SETTLED;
    named = now;
    if (isSettled) return { found: new Set(files.keys()), isKnown: (file) => file.endsWith(".gz") };
    return { found: new Set(episodeFiles(folder)), isKnown: () => false };
  }

  function look(): boolean {
    let changed = false;
    const { found, isKnown } = filesNow();
    for (const file of files.keys())
      if (!found.has(file)) {
        files.delete(file);
        changed = true;
      }
    for (const file of found) {
      if (isKnown(file)) continue;
      const now = sizeOf(file);
      const known = files.get(file);
      if (!now || (known?.size === now.size && known.changed === now.changed)) continue;
      files.set(file, {
        ...now,
        rows: indexOf(file)?.map((stored) => rowOf(stored, kept)) ?? known?.rows ?? [],
      });
      changed = true;
    }
    if (changed) {
      all = [...files.keys()].sort().flatMap((file) => files.get(file)!.rows);
      byId = undefined;
      types = typesOf(all);
    }
    if (texts.size > mostTexts) forget();
    looked = performance.now();
    return changed;
  }

  const found = (id: string) => {
    const rows = current();
    byId ??= new Map(rows.map((row) => [row.id, row]));
    return byId.get(id);
  };
  return {
    update: () => looked !== undefined && look(),
    get length() {
      return current().length;
    },
    row: found,
    rows: (fits) => current().filter(fits),
    read(id) {
      const row = found(id);
      if (!row) return undefined;
      try {
        return readStoredEpisode(row);
      } catch {
        // The run has compressed its file in the meantime, or plays this iteration again.
        looked = undefined;
        const again = found(id);
        return again && readStoredEpisode(again);
      }
    },
    failures(query) {
      const lost = current().filter((row) => !row.won && fits(row, query));
      const classes: Record<string, FailureClass> = {};
      let count = 0;
      const partial = readEach(lost.reverse(), (trajectory) => {
        const failure = failureOf(trajectory);
        if (failure === undefined) return;
        count++;
        const known = classes[failure];
        classes[failure] = {
          about: FAILURES[failure],
          count: (known?.count ?? 0) + 1,
          example: known?.example ?? trajectory.id,
        };
      });
      return { count, partial, classes };
    },
    find(query, isRecorded) {
      let fitting = current().filter((row) => fits(row, query));
      if (query.recorded) fitting = fitting.filter(({ id, step }) => isRecorded(id, step));
      const { rows: found, partial } = query.text
        ? containing(sorted(fitting, query), query.text)
        : { rows: sorted(fitting, query), partial: false };
      const list = listed(all.length, types, found, query);
      const shown = list.rows.map((row) => ({
        ...plainRow(row),
        recorded: isRecorded(row.id, row.step),
      }));
      return { ...list, rows: shown, partial };
    },
  };
}

/** Those in which the text occurs. */
function containing(
  rows: readonly StoredRow[],
  text: string,
): { rows: StoredRow[]; partial: boolean } {
  const wanted = text.toLowerCase();
  const has = (said: string) => said.toLowerCase().includes(wanted);
  const found = new Set<string>();
  const partial = readEach(rows, ({ id, turns, lastObservation }) => {
    if (
      has(lastObservation) ||
      turns.some(({ observation, reply }) => has(observation) || has(reply.text))
    )
      found.add(id);
  });
  return { rows: rows.filter(({ id }) => found.has(id)), partial };
}

/** Reads episodes file by file until the time is up. Returns whether some were left. */
function readEach(rows: readonly StoredRow[], take: (trajectory: Trajectory) => void): boolean {
  const end = performance.now() + SEARCH;
  const asked = new Set(rows.map(({ id }) => id));
  let partial = false;
  for (const file of new Set(rows.map(({ file }) => file))) {
    if (performance.now() > end) return true;
    try {
      for (const trajectory of readTrajectories(file))
        if (asked.has(trajectory.id)) take(trajectory);
    } catch {
      // The run has compressed it in the meantime.
      partial = true;
    }
  }
  return partial;
}

function rowOf(stored: StoredEpisode, kept: (text: string) => string): StoredRow {
  const { id, step, status, won, reward, turns, type = "", dropped } = stored;
  const { file, offset, length } = stored;
  // Earlier versions kept neither in their index; the id says both.
  const { group = id.replace(/#\d+$/, ""), task = group.replace(/^\d+:/, "") } = stored;
  return {
    id,
    step,
    status: kept(status) as EpisodeRow["status"],
    won,
    reward,
    turns,
    type: kept(type),
    task: kept(task),
    group: kept(group),
    dropped: dropped === undefined ? undefined : kept(dropped),
    recorded: false,
    file,
    offset,
    length,
  };
}

/** 0: it is not there. */
function modified(path: string): number {
  return sizeOf(path)?.changed ?? 0;
}

function sizeOf(file: string): { size: number; changed: number } | undefined {
  try {
    const { size, mtimeMs } = statSync(file);
    return { size, changed: mtimeMs };
  } catch {
    return undefined;
  }
}

/** Undefined: it cannot be read at the moment. */
function indexOf(file: string): StoredEpisode[] | undefined {
  try {
    return readEpisodeIndex(file);
  } catch {
    return undefined;
  }
}

/** A row without what only the server needs. */
export function plainRow(row: EpisodeRow): EpisodeRow {
  const { id, step, task, type, group, status, won, reward, turns, dropped, recorded } = row;
  return { id, step, task, type, group, status, won, reward, turns, dropped, recorded };
}
