/**
 * @file A model of the Hub, on this machine: what is not in the cache yet is fetched into it. Two processes that
 * want the same wait for each other; one that was stopped goes on where it was.
 */
import { statfsSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { FolderBusyError, type HeldLock, makeFolder, takeLock } from "../../folders/index.ts";
import { readJsonObject } from "../checkpoint/json.ts";
import { parseModelConfig } from "../config/parse.ts";
import { INDEX_FILE } from "../safetensors/checkpoint.ts";
import {
  cachedModel,
  placeInSnapshot,
  type RepositoryCache,
  repositoryCache,
  sizeOf,
} from "./cache.ts";
import { type Hub, type HubLimits, USUAL_LIMITS } from "./client.ts";
import { downloadBlob } from "./download.ts";
import { HubError } from "./errors.ts";
import { type ListedFile, smallFiles, weightFiles } from "./files.ts";
import { commitOf, filesOf } from "./listing.ts";
import { type HubName, hubNameIn, isCommit, MAIN, shownName } from "./name.ts";
import { type HubVariables, hubSettings, isOffline } from "./settings.ts";

export interface FetchOptions {
  /** Hears sentences: what is fetched, and that the cache has to do. */
  readonly say?: ((text: string) => void) | undefined;
  /** Bytes of all files that are there, and that are needed. */
  readonly onProgress?: ((done: number, total: number) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Default: the process's own (HF_TOKEN, HF_HOME and the like). */
  readonly variables?: HubVariables | undefined;
  readonly limits?: Partial<HubLimits> | undefined;
}

export interface FetchedModel {
  /** `org/name@COMMIT`: what is always the same model. */
  readonly model: string;
  readonly name: string;
  readonly commit: string;
  /** In the cache. */
  readonly folder: string;
  /** Bytes that were fetched for it just now. */
  readonly fetched: number;
}

/** Fetches `org/name` or `org/name@revision`. Throws HubError with a sentence. */
export async function fetchModel(place: string, options: FetchOptions = {}): Promise<FetchedModel> {
  const { variables = process.env, say = () => {}, signal, limits } = options;
  const wanted = hubNameIn(place);
  if (!wanted)
    throw new HubError(
      "wrong",
      `"${place}" is no name of a model on the Hub, which is like Qwen/Qwen2.5-0.5B-Instruct, or with a branch, a ` +
        "tag or a commit: org/name@revision.",
    );
  const cached = cachedModel(wanted, variables);
  if (isOffline(variables)) return fromCache(wanted, cached);
  const hub: Hub = { ...hubSettings(variables), limits: { ...USUAL_LIMITS, ...limits }, signal };
  let listing: Listing;
  try {
    listing = await lookedUp({ ...hub, limits: hasty(hub.limits, cached !== undefined) }, wanted);
  } catch (error) {
    if (!(error instanceof HubError) || error.kind !== "unreachable") throw error;
    if (!cached)
      throw new HubError(
        "unreachable",
        `${error.message} (There is no folder "${place}" here, either.)`,
      );
    say(`${error.message} Meanwhile what is in the cache has to do (commit ${cached.commit}).`);
    return fromCache(wanted, cached);
  }
  const cache = repositoryCache(wanted.name, variables);
  const work: Work = { ...listing, hub, name: wanted.name, cache, options };
  const fetched = isThere(work) ? 0 : await fetchWhole(work);
  const { commit } = listing;
  remember(cache, wanted.revision ?? MAIN, commit);
  return {
    ...{ model: `${wanted.name}@${commit}`, name: wanted.name, commit },
    ...{ folder: cache.snapshot(commit), fetched },
  };
}

/** On a machine without a way to the Hub, every call would wait for it: not long, and once if there is a cache. */
function hasty(limits: HubLimits, hasCache: boolean): HubLimits {
  const attempts = Math.min(limits.attempts, hasCache ? 1 : 3);
  return { ...limits, attempts, silence: Math.min(limits.silence, 10_000) };
}

/** What a branch was when it was last asked for; a cache that is only for reading does not learn it. */
function remember(cache: RepositoryCache, revision: string, commit: string): void {
  if (isCommit(revision) || cache.commitOf(revision) === commit) return;
  try {
    cache.remember(revision, commit);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (!["EROFS", "EACCES", "EPERM"].includes(code)) throw error;
  }
}

function fromCache(
  wanted: HubName,
  cached: { commit: string; folder: string } | undefined,
): FetchedModel {
  const { name } = wanted;
  if (cached) return { ...cached, name, model: `${name}@${cached.commit}`, fetched: 0 };
  throw new HubError(
    "refused",
    `there is no model in "${shownName(wanted)}" (no config.json), it is not whole in the Hub's cache, and nothing is ` +
      "fetched while HF_HUB_OFFLINE is set. Unset it, or name a folder.",
  );
}

interface Listing {
  readonly commit: string;
  readonly listed: ReadonlyMap<string, ListedFile>;
}

async function lookedUp(hub: Hub, { name, revision = MAIN }: HubName): Promise<Listing> {
  const commit = isCommit(revision) ? revision : await commitOf(hub, name, revision);
  return { commit, listed: await filesOf(hub, name, commit) };
}

interface Work extends Listing {
  readonly hub: Hub;
  readonly name: string;
  readonly cache: RepositoryCache;
  readonly options: FetchOptions;
}

/** Nothing is to be done, nor written: a cache may be somebody else's, and only for reading. */
function isThere({ name, commit, listed, cache }: Work): boolean {
  const isPlaced = ({ path, size }: ListedFile): boolean =>
    sizeOf(join(cache.snapshot(commit), path)) === size;
  const index = join(cache.snapshot(commit), INDEX_FILE);
  return (
    smallFiles(name, listed).every(isPlaced) && weightFiles(name, listed, index).every(isPlaced)
  );
}

/** Gives the bytes that were fetched. */
async function fetchWhole(work: Work): Promise<number> {
  const { name, commit, listed, cache } = work;
  const small = smallFiles(name, listed);
  const lock = await takenLock(work);
  try {
    makeFolder(join(cache.folder, "blobs"));
    let fetched = await fetchAll(work, small);
    // Of a kind of model that we do not have, gigabytes need not be fetched.
    const config = cache.blob(listed.get("config.json")!.hash.value);
    parseModelConfig(readJsonObject(config), `${name}, config.json`);
    const index = listed.get(INDEX_FILE);
    const weights = weightFiles(name, listed, index ? cache.blob(index.hash.value) : "");
    const [before, all] = [total(small), total([...small, ...weights])];
    fetched += await fetchAll(work, weights, { before, all });
    const folder = cache.snapshot(commit);
    makeFolder(folder);
    for (const { path, hash } of [...small, ...weights])
      placeInSnapshot(join(folder, path), cache.blob(hash.value));
    return fetched;
  } finally {
    lock.release();
  }
}

/**
 * Fetches what is missing, and gives the bytes that came. Of the small files nothing is said; of the weights,
 * how much there is of all.
 */
async function fetchAll(
  { hub, name, commit, cache, options }: Work,
  files: readonly ListedFile[],
  shown?: { before: number; all: number },
): Promise<number> {
  const isMissing = ({ hash, size }: ListedFile): boolean =>
    sizeOf(cache.blob(hash.value)) !== size;
  const missing = files.filter(isMissing);
  if (missing.length === 0) return 0;
  requireRoom(name, cache, missing);
  if (shown) options.say?.(`fetching ${name}@${commit.slice(0, 8)}: ${amount(total(missing))}`);
  let done = (shown?.before ?? 0) + total(files) - total(missing);
  for (const file of missing) {
    await downloadBlob(hub, { name, commit, file }, cache, (bytes) => {
      if (shown) options.onProgress?.(done + bytes, shown.all);
    });
    done += file.size;
  }
  return total(missing);
}

function total(files: readonly ListedFile[]): number {
  return files.reduce((sum, { size }) => sum + size, 0);
}

function requireRoom(name: string, cache: RepositoryCache, missing: readonly ListedFile[]): void {
  const begun = missing.reduce(
    (sum, { hash }) => sum + (sizeOf(cache.unfinished(hash.value)) ?? 0),
    0,
  );
  const needed = total(missing) - begun;
  const { bavail, bsize } = statfsSync(cache.folder);
  const room = bavail * bsize;
  if (needed <= room) return;
  throw new HubError(
    "wrong",
    `${name} needs ${amount(needed)} more, and where the cache is (${dirname(cache.folder)}) there are ` +
      `${amount(room)}. Make room, or choose another place: HF_HOME=FOLDER.`,
  );
}

function amount(bytes: number): string {
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(2)} GB`;
}

/** Milliseconds between two looks at a lock that somebody else holds. */
const LOOK = 200;

/** Whoever comes second waits, and then finds everything there. */
async function takenLock({ hub, name, cache, options }: Work): Promise<HeldLock> {
  const { lockFolder } = cache;
  makeFolder(lockFolder);
  for (let looks = 0; ; looks++) {
    try {
      return takeLock(lockFolder);
    } catch (error) {
      if (!(error instanceof FolderBusyError)) throw error;
      if (looks === 0) options.say?.(`another process is fetching ${name}; waiting for it`);
      hub.signal?.throwIfAborted();
      await wait(LOOK, undefined, { signal: hub.signal }).catch(() => hub.signal?.throwIfAborted());
    }
  }
}
