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
import { greedyProblems, logitProblems } from "./models/inference.ts";
import { trainingProblems } from "./models/training.ts";

type Check = (model: Model, golden: Golden) => string[];

const CHECKS: Record<string, Check> = {
  logits: logitProblems,
  "greedy continuation": greedyProblems,
  "training steps": trainingProblems,
};

export function checkModels(directory: unknown): CaseResult[] {
  if (typeof directory !== "string") throw new Error("expected the path of a directory");
  const folders = modelFolders(directory);
  if (folders.length === 0)
    throw new Error("no folder in it has a golden.json beside a config.json");
  return folders.flatMap((name) => checkFolder(join(directory, name), name));
}

function modelFolders(directory: string): string[] {
  if (!existsSync(directory) || !statSync(directory).isDirectory())
    throw new Error("expected a directory of model folders");
  const names = existsSync(join(directory, "golden.json")) ? ["."] : readdirSync(directory).sort();
  return names.filter((name) =>
    ["golden.json", "config.json"].every((file) => existsSync(join(directory, name, file))),
  );
}

function checkFolder(folder: string, name: string): CaseResult[] {
  const golden = parseGolden(JSON.parse(readFileSync(join(folder, "golden.json"), "utf8")));
  return Object.entries(CHECKS).map(([title, check]) => {
    const before = memory().tensors;
    const model = load(folder);
    const problems = [...check(model, golden)];
    model.dispose();
    const left = memory().tensors - before;
    if (left !== 0) problems.push(`${left} tensors leaked`);
    return { name: `${name}: ${title}`, problems };
  });
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
