/**
 * @file The inverted index in a file, so that a large shop is indexed once.
 */
import { readArrayFile, textBytes, textLines, writeArrayFile } from "../array-file.ts";
import type { InvertedIndex } from "./inverted-index.ts";

export function writeIndexFile(path: string, source: string, index: InvertedIndex): void {
  const { documents, averageLength, terms, ...arrays } = index;
  writeArrayFile(path, source, {
    facts: { documents, averageLength },
    arrays: { terms: textBytes(terms.keys()), ...arrays },
  });
}

/** The index in the file, or undefined where there is none that was made from this source. */
export function readIndexFile(path: string, source: string): InvertedIndex | undefined {
  const file = readArrayFile(path, source);
  if (!file) return undefined;
  const { terms, ...arrays } = file.arrays;
  const { documents, averageLength } = file.facts;
  return {
    ...(arrays as unknown as Omit<InvertedIndex, "documents" | "averageLength" | "terms">),
    ...{ documents: documents!, averageLength: averageLength! },
    terms: new Map(textLines(terms as Uint8Array).map((term, number) => [term, number])),
  };
}
