/**
 * @file An index from the cache, or made now and kept there.
 */
import { cacheFile, fingerprint } from "../cache-folder.ts";
import { termsOf } from "./analysis.ts";
import { readIndexFile, writeIndexFile } from "./index-file.ts";
import type { InvertedIndex } from "./inverted-index.ts";

/** Change it when the index's content changes: files of other versions are made again. */
const VERSION = "index 1";

/** Another analysis makes other terms of this, so that its indices are not taken for ours. */
const SAMPLE =
  "The men's and women's RUNNING shoes, size 9.5-10 (pack of 12): relational, hopping, ponies, " +
  "conditionally adjustable; e.g. U.S.A. caf\u00e9 na\u00efve wi_fi x:y 1,299.00 \u65e5\u672c \u30ab\u30bf";

/** `source` names what is indexed: the same source must give the same index. */
export function keptIndex(
  source: string,
  folder: string | undefined,
  make: () => InvertedIndex,
): InvertedIndex {
  if (folder === undefined) return make();
  const stamp = `${VERSION}; ${fingerprint(termsOf(SAMPLE))}; ${source}`;
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
