/**
 * @file Work that several processes do together: they meet, see that they are about to do the same, and end together.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { openRunWorld, type WorldOptions } from "../assembly/index.ts";
import { type Config, ranksSettings } from "../config/index.ts";
import { diskSentence, FolderBusyError } from "../folders/index.ts";
import { fingerprintsOf, modelFolderOf } from "../models/index.ts";
import { findRendezvous, ProcessGroupError, runtimeInfo } from "../torch/index.ts";
import {
  fingerprintOfTasks,
  type HeldFolder,
  holdRunFolder,
  joinRanks,
  oneRank,
  type Ranks,
  requireSameOnRanks,
} from "../training/index.ts";
import type { Audience } from "./progress.ts";

/** Ranks that this process has joined and not left. */
let joined = 0;

/**
 * Joins the other ranks for some work. What fails here ends it everywhere. Inside of other work of all ranks, which
 * not all of them may do, this process works alone.
 */
export async function withRanks<Result>(work: (ranks: Ranks) => Promise<Result>): Promise<Result> {
  if (joined > 0)
    return work(oneRank()).catch((error: unknown) => Promise.reject(diskSentence(error)));
  const ranks = joinRanks();
  joined++;
  try {
    return await work(ranks);
  } catch (error) {
    throw ranks.failed(diskSentence(error));
  } finally {
    joined--;
    ranks.close();
  }
}

/** Work before the ranks meet: where it fails, the others hear of it and do not wait. */
export async function tellingRanks<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (joined === 0 && !(error instanceof ProcessGroupError) && countRanks() > 1) {
      const failed = withRanks(() => Promise.reject(error));
      await failed.catch(() => {});
    }
    throw error;
  }
}

function countRanks(): number {
  try {
    return findRendezvous().worldSize;
  } catch {
    return 1;
  }
}

/** Whether this process speaks for all. */
export function isFirstRank(): boolean {
  return countRanks() === 1 || findRendezvous().rank === 0;
}

/** What must be the same on all ranks, before anything is written. */
export interface SameOnRanks {
  readonly config: Config;
  readonly world: WorldOptions;
  /** Folders of models, by what they are for; not of those that rank 0 makes. */
  readonly models: Readonly<Record<string, string>>;
}

export async function requireSameWork(
  ranks: Ranks,
  { config, world, models }: SameOnRanks,
): Promise<void> {
  if (ranks.size === 1) return;
  requireSameOnRanks(ranks, "version", { node: process.version, ...runtimeInfo() });
  requireSameOnRanks(ranks, "configuration", ranksSettings(config));
  requireSameOnRanks(
    ranks,
    "model",
    Object.fromEntries(Object.entries(models).map(([name, place]) => [name, modelFacts(place)])),
  );
  const opened = await openRunWorld(world);
  try {
    const splits: Record<string, unknown> = {};
    for (const split of [opened.trainSplit, opened.valSplit])
      splits[split] = fingerprintOfTasks(await opened.world.tasks(split));
    requireSameOnRanks(ranks, "data", { source: opened.world.source, ...splits });
  } finally {
    await opened.world.close?.();
  }
}

function modelFacts(place: string): unknown {
  const folder = modelFolderOf(place);
  return existsSync(join(folder, "config.json")) ? fingerprintsOf(folder) : `nothing in ${folder}`;
}

/** How long a group that was started again waits for the run's folder: so long a dead machine's lock counts. */
const LOCK_PATIENCE = 90_000;

/** The run's folder for rank 0. A group that takes the place of a lost one waits until the lock of that is stale. */
export async function heldByFirst(ranks: Ranks, folder: string): Promise<HeldFolder | undefined> {
  if (!ranks.isFirst) return undefined;
  for (const end = performance.now() + (isRestarted() ? LOCK_PATIENCE : 0); ; await wait(1000)) {
    try {
      return holdRunFolder(folder);
    } catch (error) {
      if (!(error instanceof FolderBusyError) || performance.now() > end) throw error;
    }
  }
}

/** Whether a launcher has started the ranks again after it lost some. */
function isRestarted(): boolean {
  const { TORCHELASTIC_RESTART_COUNT, OPENMANUS_RESTART } = process.env;
  return Number(TORCHELASTIC_RESTART_COUNT ?? 0) + Number(OPENMANUS_RESTART ?? 0) > 0;
}

/** Says, at the start, who does not see the run's folder: rank 0 sends them what they need. */
export function tellWhoSharesNot(ranks: Ranks, folder: string, say: Audience["say"]): void {
  if (ranks.size === 1) return;
  const file = join(folder, "run.lock");
  // The first byte is the heartbeat's.
  const lock = () => (existsSync(file) ? readFileSync(file, "utf8").slice(1) : undefined);
  const first = ranks.broadcast(ranks.isFirst ? lock() : undefined);
  const blind = ranks.gather(lock() === first).flatMap((sees, rank) => (sees ? [] : [rank]));
  if (blind.length === 0 || !ranks.isFirst) return;
  say(
    `${folder} is not shared with rank ${blind.join(", ")}: rank 0 sends what they need (models that it makes, ` +
      "checkpoints to go on from), and keeps all results. Should rank 0 come to another machine, the run can go on " +
      "only if that one has the folder.",
  );
}
