/**
 * @file An index from the cache, or made now and kept there.
 */
import { cacheFile } from "../cache-folder.ts";
import { readIndexFile, writeIndexFile } from "./index-file.ts";
import type { InvertedIndex } from "./inverted-index.ts";

/** Change it when analysis or the index's content changes: files of other versions are made again. */
const VERSION = "analysis 1";

/** `source` names what is indexed: the same source must give the same index. */
export function keptIndex(
  source: string,
  folder: string | undefined,
  make: () => InvertedIndex,
): InvertedIndex {
  if (folder === undefined) return make();
  const stamp = `${VERSION}; ${source}`;
  const file = cacheFile(folder, "index", stamp);
  const kept = readIndexFile(file, stamp);
  if (kept) return kept;
  const index = make();
  ignoringFailure(() => writeIndexFile(file, stamp, index));
  return index;
}

/** Only a cache: a folder that cannot be written to costs time, not results. */
export function ignoringFailure(write: () => void): void {
  try {
    write();
  } catch {
    // Nothing to do.
  }
}
