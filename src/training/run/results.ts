/**
 * @file What a run's folder holds of its policy: the best by validation, and the last.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { loadLora, loadModel, modelFolderOf, saveModel } from "../../models/index.ts";
import {
  bestStepOf,
  checkpointFolder,
  checkpointSteps,
  openCheckpointState,
  type RunState,
} from "../checkpoint/checkpoint.ts";
import { readRunDescription } from "./folder.ts";

export interface PolicyOfRun {
  /** The iteration after which it was saved; 0: what the run began with. */
  readonly iteration: number;
  /** A model folder that everybody reads. */
  readonly folder: string;
}

export interface RunResults {
  readonly state: RunState;
  readonly last: PolicyOfRun;
  /** Undefined where the run has not validated. */
  readonly best: (PolicyOfRun & { readonly successRate: number }) | undefined;
}

/** Undefined: there is no run in this folder, or it has not saved anything yet. */
export function runResults(run: string): RunResults | undefined {
  const last = checkpointSteps(run).at(-1);
  if (last === undefined) return undefined;
  const state = openCheckpointState(checkpointFolder(run, last));
  return { state, last: policyAfter(run, last)!, best: bestPolicy(run, state) };
}

/** After which iterations a policy was saved, and which of them did best in validation. */
export function savedPolicies(run: string): { iterations: number[]; best: number | undefined } {
  const iterations = checkpointSteps(run);
  const last = iterations.at(-1);
  if (last === undefined) return { iterations, best: undefined };
  const best = bestStepOf(checkpointFolder(run, last));
  return { iterations, best: best === undefined || iterations.includes(best) ? best : undefined };
}

/** The policy of the best validation; undefined where there was none, or its folder is gone. */
export function bestPolicy(run: string, { best }: Pick<RunState, "best">): RunResults["best"] {
  const policy = best && policyAfter(run, best.step);
  return policy ? { ...policy, successRate: best.successRate } : undefined;
}

/** Undefined: nothing was saved after it. */
export function policyAfter(run: string, iteration: number): PolicyOfRun | undefined {
  // Nothing that was learned was better than what it began with.
  if (iteration === 0) {
    const begun = readRunDescription(run)?.start;
    const start = begun && modelFolderOf(begun);
    return start && existsSync(join(start, "config.json"))
      ? { iteration, folder: start }
      : undefined;
  }
  const actor = join(checkpointFolder(run, iteration), "actor");
  if (existsSync(join(actor, "config.json"))) return { iteration, folder: actor };
  if (!existsSync(join(actor, "adapter_config.json"))) return undefined;
  return { iteration, folder: merged(run, iteration, actor) };
}

/** A checkpoint with LoRA holds only the adapter: base and adapter as one, made when first asked for. */
function merged(run: string, iteration: number, adapter: string): string {
  const folder = join(run, "policies", `step-${String(iteration).padStart(6, "0")}`);
  if (existsSync(join(folder, "config.json"))) return folder;
  const { base_model_name_or_path: name, revision } = JSON.parse(
    readFileSync(join(adapter, "adapter_config.json"), "utf8"),
  ) as { base_model_name_or_path: string; revision?: string | null };
  const base = modelFolderOf(revision ? `${name}@${revision}` : name);
  const notes = readdirSync(adapter).filter((name) => !name.startsWith("adapter_"));
  const model = loadLora(loadModel(base), adapter);
  try {
    saveModel(model, folder, {
      tokenizerFolder: base,
      extraFiles: Object.fromEntries(
        notes.map((name) => [name, readFileSync(join(adapter, name), "utf8")]),
      ),
    });
  } finally {
    model.dispose();
  }
  return folder;
}
