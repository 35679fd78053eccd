/**
 * @file Whether a server has the weights that it says: by what it says of a fixed text. A reload may be answered with
 * 200 and matching checksums, and still leave something of older weights in use (docs/engines.md).
 */
import type { Tensor } from "../../torch/index.ts";
import { ServerError } from "../server/errors.ts";
import type { Endpoints } from "./endpoints.ts";
import { adapterName, MODEL_NAME } from "./options.ts";

export interface Probe {
  readonly ids: readonly number[];
  /** [ids - 1] log p of every token but the first, by the weights that the server must have. */
  readonly logprobs: readonly number[];
  /** How far a server's may be from them: rounding. */
  readonly tolerance: number;
}

/** Weights in a model folder, or in memory, by a number. */
export interface ServedWeights {
  /** Where `tensors` are given: what servers are started with, and nothing else. Undefined: none are started. */
  readonly folder: string | undefined;
  /**
   * The weights as they are now, on a GPU, by their names in checkpoints: new views, for whoever asks. They are sent by
   * NCCL. Undefined: they are in the folder.
   */
  readonly tensors?: (() => ReadonlyMap<string, Tensor>) | undefined;
  /** The folder of an adapter, where only that changes: the weights in `folder` stay the same. */
  readonly adapter?: string | undefined;
  readonly version: number;
  readonly probe: Probe;
}

/** How requests call these weights. */
export function servedName({
  version,
  adapter,
}: Pick<ServedWeights, "version" | "adapter">): string {
  return adapter === undefined ? MODEL_NAME : adapterName(version);
}

/** A server whose log-probabilities are not those of its weights: nothing that it plays can be trained on. */
export class WeightsError extends Error {
  override name = "WeightsError";
}

/** The largest |Δ log p| of the probe; throws where it is no rounding. */
export async function requireWeights(
  endpoints: Pick<Endpoints, "url" | "textLogprobs">,
  { version, probe, adapter }: Pick<ServedWeights, "version" | "probe" | "adapter">,
): Promise<number> {
  const found = await endpoints.textLogprobs(probe.ids, servedName({ version, adapter }));
  if (found.length !== probe.logprobs.length)
    throw new ServerError(
      `${endpoints.url}: ${found.length} log-probabilities of a text of ${probe.ids.length} tokens`,
    );
  const largest = found.reduce(
    (most, logprob, i) => Math.max(most, Math.abs(logprob - probe.logprobs[i]!)),
    0,
  );
  if (largest <= probe.tolerance) return largest;
  throw new WeightsError(
    `the server at ${endpoints.url} does not play with the weights of iteration ${version}: log-probabilities of the ` +
      `probe differ from ours by up to ${largest.toPrecision(2)}, and ${probe.tolerance} would be rounding. What it ` +
      "plays cannot be trained on, so the run stops.",
  );
}
