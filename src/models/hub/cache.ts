/**
 * @file The cache on disk, in the layout of Python's huggingface_hub, so that both use what the other fetched:
 *
 *   models--org--name/
 *     blobs/HASH                   the files, by the sum that the Hub knows them by
 *     refs/main                    the commit that a branch or a tag had when it was last asked for
 *     snapshots/COMMIT/config.json  links to blobs
 *
 * A blob gets its name when it is whole and its sum is right; the links of a snapshot are made when all its
 * blobs are there.
 */
import {
  copyFileSync,
  existsSync,
  lstatSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { makeFolder, writeText } from "../../folders/index.ts";
import { INDEX_FILE, SINGLE_FILE } from "../safetensors/checkpoint.ts";
import { shardsIn } from "./files.ts";
import { hubNameIn, isCommit, MAIN } from "./name.ts";
import { cacheFolder, type HubVariables } from "./settings.ts";

export interface RepositoryCache {
  readonly folder: string;
  /** Where only one process of ours works at a time. */
  readonly lockFolder: string;
  blob(hash: string): string;
  /** Not Python's name: its lock cannot be taken from here, so its unfinished files are its own. */
  unfinished(hash: string): string;
  snapshot(commit: string): string;
  /** The commit of a branch or a tag when it was last asked for. */
  commitOf(revision: string): string | undefined;
  remember(revision: string, commit: string): void;
}

export function repositoryCache(name: string, variables: HubVariables): RepositoryCache {
  const cache = cacheFolder(variables);
  const own = `models--${name.replace("/", "--")}`;
  const folder = join(cache, own);
  const reference = (revision: string): string => join(folder, "refs", ...revision.split("/"));
  return {
    folder,
    lockFolder: join(cache, ".locks", own, "openmanus-rl"),
    blob: (hash) => join(folder, "blobs", hash),
    unfinished: (hash) => join(folder, "blobs", `${hash}.openmanus-rl.incomplete`),
    snapshot: (commit) => join(folder, "snapshots", commit),
    commitOf(revision) {
      const file = reference(revision);
      const commit = existsSync(file) ? readFileSync(file, "utf8").trim() : "";
      return isCommit(commit) ? commit : undefined;
    },
    remember(revision, commit) {
      const file = reference(revision);
      makeFolder(dirname(file));
      writeText(file, commit);
    },
  };
}

/** Links a file of a snapshot to its blob; where there are no links, it is a copy. */
export function placeInSnapshot(file: string, blob: string): void {
  const target = relative(dirname(file), blob);
  if (isLinkTo(file, target)) return;
  // Beside its place and renamed: nobody ever finds it missing.
  const draft = `${file}.${process.pid}.openmanus-rl`;
  rmSync(draft, { force: true });
  try {
    symlinkSync(target, draft);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (!["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"].includes(code)) throw error;
    copyFileSync(blob, draft);
  }
  renameSync(draft, file);
}

function isLinkTo(file: string, target: string): boolean {
  try {
    return lstatSync(file).isSymbolicLink() && readlinkSync(file) === target;
  } catch {
    return false;
  }
}

/** A model that is whole in the cache, by what it needs at least: its sizes, its words and all its weights. */
export function cachedModel(
  { name, revision = MAIN }: { name: string; revision: string | undefined },
  variables: HubVariables,
): { commit: string; folder: string } | undefined {
  const cache = repositoryCache(name, variables);
  const commit = isCommit(revision) ? revision : cache.commitOf(revision);
  if (commit === undefined) return undefined;
  const folder = cache.snapshot(commit);
  return isWhole(folder) ? { commit, folder } : undefined;
}

function isWhole(folder: string): boolean {
  const has = (file: string): boolean => existsSync(join(folder, file));
  if (!has("config.json") || !has("tokenizer.json")) return false;
  if (has(SINGLE_FILE)) return true;
  if (!has(INDEX_FILE)) return false;
  try {
    return shardsIn(join(folder, INDEX_FILE)).every(has);
  } catch {
    return false;
  }
}

/** The size of a file; undefined where there is none. */
export function sizeOf(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.size;
}

/**
 * Where a model is on this machine: of `org/name@COMMIT`, as runs write it down, its place in the cache; any
 * other place is a folder already.
 */
export function modelFolderOf(place: string, variables: HubVariables = process.env): string {
  const found = hubNameIn(place);
  if (!found?.revision || !isCommit(found.revision) || existsSync(place)) return place;
  return repositoryCache(found.name, variables).snapshot(found.revision);
}
