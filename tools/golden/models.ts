/**
 * @file `npm run golden -- models DIR`: every model folder under DIR that has a golden.json, compared
 * with what transformers computed: logits, greedy continuations, three training steps.
 */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import {
  type Model,
  modelFromCheckpoint,
  openCheckpoint,
  readModelConfig,
} from "../../src/models/index.ts";
import { memory } from "../../src/torch/index.ts";
import type { CaseResult } from "./main.ts";
import { type Golden, parseGolden } from "./models/format.ts";
import {
  cachedGreedyProblems,
  cachedLogitProblems,
  greedyProblems,
  logitProblems,
} from "./models/inference.ts";
import { trainingProblems } from "./models/training.ts";

type Check = (model: Model, golden: Golden) => string[] | Promise<string[]>;

const CHECKS: Record<string, Check> = {
  logits: logitProblems,
  "greedy continuation": greedyProblems,
  "logits, from the cache": cachedLogitProblems,
  "greedy continuation, by the engine": cachedGreedyProblems,
  "training steps": trainingProblems,
};

export async function checkModels(directory: unknown): Promise<CaseResult[]> {
  if (typeof directory !== "string") throw new Error("expected the path of a directory");
  const folders = modelFolders(directory);
  if (folders.length === 0)
    throw new Error("no folder in it has a golden.json beside a config.json");
  const results: CaseResult[] = [];
  for (const name of folders) results.push(...(await checkFolder(join(directory, name), name)));
  return results;
}

function modelFolders(directory: string): string[] {
  if (!existsSync(directory) || !statSync(directory).isDirectory())
    throw new Error("expected a directory of model folders");
  const names = existsSync(join(directory, "golden.json")) ? ["."] : readdirSync(directory).sort();
  return names.filter((name) =>
    ["golden.json", "config.json"].every((file) => existsSync(join(directory, name, file))),
  );
}

async function checkFolder(folder: string, name: string): Promise<CaseResult[]> {
  const golden = parseGolden(JSON.parse(readFileSync(join(folder, "golden.json"), "utf8")));
  const results: CaseResult[] = [];
  for (const [title, check] of Object.entries(CHECKS)) {
    const before = memory().tensors;
    const model = load(folder);
    const problems = [...(await check(model, golden))];
    model.dispose();
    const left = memory().tensors - before;
    if (left !== 0) problems.push(`${left} tensors leaked`);
    results.push({ name: `${name}: ${title}`, problems });
  }
  return results;
}

/** In float32, as the numbers were computed, whatever the file holds. */
function load(folder: string): Model {
  const checkpoint = openCheckpoint(folder);
  try {
    return modelFromCheckpoint(readModelConfig(folder), checkpoint, { dtype: "float32" });
  } finally {
    checkpoint.close();
  }
}
