/**
 * @file A published model from the Hub, whose own sums are checked, as a folder of one's own.
 */
import { copyModel, fetchModel, HubError } from "../../models/index.ts";
import { throwIfAborted } from "../progress.ts";
import type { ModelSource } from "./source.ts";

/** `name`: `org/name`. */
export function hubSource(name: string): ModelSource {
  return {
    name: `the Hub (${name})`,
    async fetch(folder, { onProgress, signal }) {
      try {
        const found = await fetchModel(name, {
          signal,
          onProgress: (done, total) => onProgress?.(`fetching ${name}`, done, total),
        });
        copyModel(found.folder, folder);
        return undefined;
      } catch (error) {
        throwIfAborted(signal, `while ${name} was fetched`);
        // Whoever has no way to the Hub, or may not use it, may have one to the next place.
        if (error instanceof HubError) return error.message;
        throw error;
      }
    },
  };
}
