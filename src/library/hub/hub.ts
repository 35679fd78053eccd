/**
 * @file Models by their names on the Hub, wherever a model's folder may stand.
 */
import { type FetchedModel, fetchModel, meansHub } from "../../models/index.ts";
import { type Audience, InterruptedError } from "../progress.ts";

export const MB = 1e6;

/**
 * A model's place as runs write it down. A folder stays what it is; a name on the Hub gets its commit
 * (`org/name@COMMIT`), and the model is in the cache then.
 */
export async function fetchedModel(
  place: string,
  audience: Pick<Audience, "say" | "progress">,
  signal?: AbortSignal,
): Promise<string> {
  return meansHub(place) ? (await fetchShown(place, audience, signal)).model : place;
}

/** Fetches a model, for an audience. */
export async function fetchShown(
  name: string,
  { say, progress }: Pick<Audience, "say" | "progress">,
  signal?: AbortSignal,
): Promise<FetchedModel> {
  try {
    return await fetchModel(name, {
      ...{ say, signal },
      onProgress: (done, total) =>
        progress.show(`fetching ${name}`, Math.floor(done / MB), Math.ceil(total / MB), "MB"),
    });
  } catch (error) {
    if (!signal?.aborted) throw error;
    throw new InterruptedError(
      `interrupted while ${name} was fetched; the same call goes on where it stopped`,
    );
  } finally {
    progress.clear();
  }
}
