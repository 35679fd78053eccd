/**
 * @file Checkpoints: everything that a run needs to go on as if it had never stopped.
 *
 *   checkpoints/step-000010/
 *     actor/                       the policy, a Hugging Face folder (with LoRA: the adapter, as PEFT's)
 *     critic/                      the value model, if there is one
 *     actor-optimizer.safetensors  AdamW's moments
 *     critic-optimizer.safetensors
 *     state.json                   counters, controllers, the place in the tasks
 *     manifest.json                size and hash of every file
 *
 * Generators need no place in it: whatever is random follows from the run's seed and the iteration.
 */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { KlController } from "../../algorithms/index.ts";
import { openSafetensors, saveLora, saveModel, writeSafetensors } from "../../models/index.ts";
import type { OptimizerState, Tensor } from "../../torch/index.ts";
import { tidy } from "../../torch/index.ts";
import type { Guards } from "../loop/guards.ts";
import type { TrainedModel } from "../workers/optimize.ts";
import type { Workers } from "../workers/workers.ts";
import { CheckpointError, removeHalfWritten, verifyWhole, writeWhole } from "./files.ts";

/** What of a run is no tensor. */
export interface RunState {
  readonly version: 1;
  /** Iterations done. */
  readonly step: number;
  /** Tasks handed out. */
  readonly drawnTasks: number;
  readonly klController: KlController;
  readonly badUpdates: Guards["badUpdates"];
  /** The best validation so far, and its iteration. */
  readonly best: { readonly step: number; readonly successRate: number } | null;
  /** Episodes and sampled tokens so far. */
  readonly episodes: number;
  readonly tokens: number;
  /** Minutes of training in all sessions: for people, nothing follows from it. */
  readonly minutes: number;
}

interface StoredState extends RunState {
  readonly optimizers: {
    readonly actor: StoredOptimizer;
    readonly critic: StoredOptimizer | null;
  };
}

interface StoredOptimizer {
  readonly step: number;
  readonly lossScale: { value: number; since: number };
}

export function checkpointFolder(run: string, step: number): string {
  return join(run, "checkpoints", `step-${String(step).padStart(6, "0")}`);
}

/** `notes` are files that go beside the policy's weights, by name. */
export function saveCheckpoint(
  run: string,
  workers: Workers,
  state: RunState,
  notes: Readonly<Record<string, string>> = {},
): string {
  const target = checkpointFolder(run, state.step);
  writeWhole(target, (folder) => {
    const { actor, critic, lora, modelFolder } = workers;
    if (lora) {
      saveLora(lora, join(folder, "actor"), { baseModel: modelFolder });
      for (const [name, text] of Object.entries(notes))
        writeFileSync(join(folder, "actor", name), text);
    } else
      saveModel(actor.model, join(folder, "actor"), {
        tokenizerFolder: modelFolder,
        extraFiles: notes,
      });
    if (critic) saveModel(critic.model, join(folder, "critic"), { tokenizerFolder: modelFolder });
    const stored: StoredState = {
      ...state,
      optimizers: {
        actor: saveOptimizer(actor, join(folder, "actor-optimizer.safetensors")),
        critic: critic ? saveOptimizer(critic, join(folder, "critic-optimizer.safetensors")) : null,
      },
    };
    writeFileSync(join(folder, "state.json"), `${JSON.stringify(stored, null, 1)}\n`);
  });
  return target;
}

function saveOptimizer(trained: TrainedModel, file: string): StoredOptimizer {
  const { step, tensors } = trained.state();
  writeSafetensors(file, tensors);
  return { step, lossScale: trained.lossScale.state() };
}

/** The state of a checkpoint whose files are all as they were written. */
export function openCheckpointState(folder: string): RunState {
  verifyWhole(folder);
  return readState(folder);
}

function readState(folder: string): StoredState {
  const file = join(folder, "state.json");
  const state = JSON.parse(readFileSync(file, "utf8")) as StoredState;
  if (state.version !== 1)
    throw new CheckpointError(`${file}: is of version ${state.version as number}, expected 1`);
  return state;
}

/** The folders that the workers load their weights from. */
export function resumeFolders(folder: string) {
  const critic = join(folder, "critic");
  return { actor: join(folder, "actor"), critic: existsSync(critic) ? critic : undefined };
}

/** Gives the workers' optimisers the state of a checkpoint. */
export function loadOptimizers(folder: string, { actor, critic }: Workers): void {
  const { optimizers } = readState(folder);
  loadOptimizer(actor, join(folder, "actor-optimizer.safetensors"), optimizers.actor);
  if (critic && optimizers.critic)
    loadOptimizer(critic, join(folder, "critic-optimizer.safetensors"), optimizers.critic);
}

function loadOptimizer(trained: TrainedModel, path: string, stored: StoredOptimizer): void {
  tidy(() => {
    const file = openSafetensors(path);
    try {
      const tensors = new Map<string, Tensor>();
      for (const name of file.tensors.keys()) tensors.set(name, file.load(name, { copy: true }));
      trained.load({ step: stored.step, tensors } satisfies OptimizerState);
      trained.lossScale.load(stored.lossScale);
    } finally {
      file.close();
    }
  });
}

/** The iterations of which there are checkpoints, in order. */
export function checkpointSteps(run: string): number[] {
  const folder = join(run, "checkpoints");
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .flatMap((name) => /^step-(\d+)$/.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);
}

/** Removes what a killed run was writing; only for whoever holds the run's folder. */
export function removeUnfinished(run: string): void {
  removeHalfWritten(join(run, "checkpoints"));
}

/** Removes old checkpoints: all but the last `keep` and the best. */
export function pruneCheckpoints(run: string, keep: number | null, best: number | undefined): void {
  if (keep === null) return;
  const steps = checkpointSteps(run);
  for (const step of steps.slice(0, Math.max(0, steps.length - keep)))
    if (step !== best) rmSync(checkpointFolder(run, step), { recursive: true, force: true });
}

/** Removes what was saved after an iteration from which a run goes on: it will be another's future. */
export function removeCheckpointsAfter(run: string, step: number): void {
  for (const later of checkpointSteps(run))
    if (later > step) rmSync(checkpointFolder(run, later), { recursive: true, force: true });
}
