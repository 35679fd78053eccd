/**
 * @file The targets by name, and the file that each is in: a worker loads only what it needs.
 */

export const TARGET_FILES = {
  ...{ safetensors: "models", gguf: "models", "gguf-import": "models", config: "models" },
  ...{ tokenizer: "texts", template: "texts", page: "texts", replies: "texts", calls: "texts" },
  ...{ zip: "archives", tar: "archives", xz: "archives" },
  ...{ parquet: "data", records: "data", yaml: "data", recipe: "data", products: "data" },
  ...{ pddl: "games", game: "games", task: "games" },
  ...{ gateway: "servers", http: "servers", "env-serve": "servers", "openenv-serve": "servers" },
  ...{
    agentgym: "answers",
    openenv: "answers",
    mcp: "answers",
    vllm: "answers",
    events: "answers",
  },
  ...{
    episodes: "stored",
    metrics: "stored",
    tokens: "stored",
    checkpoint: "stored",
    run: "stored",
  },
} as const;

/** Those that are broken on purpose. */
export const PLANTED_FILE = "planted";

export type TargetName = keyof typeof TARGET_FILES;

export const TARGET_NAMES: readonly string[] = Object.keys(TARGET_FILES);
