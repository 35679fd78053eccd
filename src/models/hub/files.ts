/**
 * @file Which files of a repository a model needs. Only those are fetched, and only those are pushed: never
 * pickled weights and never code, which whoever loads them would run.
 */
import { ModelFileError } from "../checkpoint/errors.ts";
import { isJsonObject, readJsonObject } from "../checkpoint/json.ts";
import { INDEX_FILE, SINGLE_FILE } from "../safetensors/checkpoint.ts";
import { HubError } from "./errors.ts";

/** A file of the repository's own folder, as the Hub lists it. */
export interface ListedFile {
  readonly path: string;
  readonly size: number;
  /** Of large files the SHA-256 of what is in them; of others git's own sum. */
  readonly hash: { readonly kind: "sha256" | "git"; readonly value: string };
}

/** All but the weights, in the order in which they are fetched. `openmanus-rl.json` is how it was trained. */
export const SMALL_FILES: readonly string[] = [
  ...["config.json", "generation_config.json", "openmanus-rl.json"],
  ...["tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"],
  ...["vocab.json", "vocab.txt", "merges.txt", "tokenizer.model"],
  ...["chat_template.json", "chat_template.jinja"],
];

const SHARD = /^\w[\w.-]{0,199}\.safetensors$/;

/** What to fetch first: everything that is small, and the index of the weights where there is one. */
export function smallFiles(name: string, listed: ReadonlyMap<string, ListedFile>): ListedFile[] {
  const names = [...SMALL_FILES, ...(listed.has(SINGLE_FILE) ? [] : [INDEX_FILE])];
  const found = names.flatMap((path) => listed.get(path) ?? []);
  const hasWeights = listed.has(SINGLE_FILE) || listed.has(INDEX_FILE);
  if (listed.has("config.json") && hasWeights) return found;
  throw new HubError("wrong", `${name} cannot be used as a model: ${whatIsMissing(listed)}`);
}

function whatIsMissing(listed: ReadonlyMap<string, ListedFile>): string {
  const names = [...listed.keys()];
  const has = (pattern: RegExp): boolean => names.some((path) => pattern.test(path));
  if (listed.has("adapter_config.json"))
    return "it holds an adapter (LoRA) and not the model that it belongs to. Name that one, which its page says.";
  if (listed.has("config.json") && has(/\.(?:bin|pt|pth)$/))
    return "its weights are pickled (*.bin), and loading those can run code. Take another revision or model with *.safetensors.";
  if (has(/\.gguf$/))
    return "it holds GGUF files, for llama.cpp. Take the model that they were made from.";
  return (
    `it has no ${listed.has("config.json") ? `${SINGLE_FILE} and no ${INDEX_FILE}` : "config.json"}. ` +
    "Is it a language model in transformers' format?"
  );
}

/** The weights: one file, or those that the index names, which is here by now. */
export function weightFiles(
  name: string,
  listed: ReadonlyMap<string, ListedFile>,
  index: string,
): ListedFile[] {
  const single = listed.get(SINGLE_FILE);
  if (single) return [single];
  return shardsIn(index).map((path) => {
    const file = listed.get(path);
    if (file) return file;
    throw new HubError(
      "wrong",
      `${name}: its ${INDEX_FILE} names ${path}, which the repository does not have. Take another revision.`,
    );
  });
}

/** Names of an index's shards. None leads out of its folder. */
export function shardsIn(index: string): string[] {
  const { weight_map: map } = readJsonObject(index);
  const shards = isJsonObject(map) ? [...new Set(Object.values(map))] : [];
  const wrong = shards.find((shard) => typeof shard !== "string" || !SHARD.test(shard));
  if (shards.length > 0 && wrong === undefined) return (shards as string[]).sort();
  throw new ModelFileError(
    index,
    shards.length === 0
      ? "weight_map must be an object from tensor names to file names"
      : `weight_map names ${JSON.stringify(wrong).slice(0, 100)}, expected names like model-00001-of-00002.safetensors`,
  );
}
