/**
 * @file Checkpoints: everything that a run needs to go on as if it had never stopped.
 *
 *   checkpoints/step-000010/
 *     actor/                       the policy, a Hugging Face folder (with LoRA: the adapter, as PEFT's)
 *     critic/                      the value model, if there is one
 *     actor-optimizer.safetensors  AdamW's moments
 *     critic-optimizer.safetensors
 *     actor-shards/, critic-shards/  instead of the four above, where ranks save their own (own-files.ts)
 *     state.json                   counters, controllers, the place in the tasks, the model it began with
 *     replay.jsonl                 episodes that may be learned from again
 *     config.yaml, run.json        the run, as its folder has them: those there may be torn
 *     manifest.json                size and hash of every file
 *
 * Generators need no place in it: whatever is random follows from the run's seed and the iteration.
 */
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { KlController } from "../../algorithms/index.ts";
import type { AlarmName, AlarmState } from "../../evaluation/index.ts";
import { type Fingerprints, isSharded, saveLora } from "../../models/index.ts";
import { ProcessGroupError } from "../../torch/index.ts";
import type { TaskRecords } from "../curriculum/records.ts";
import type { Guards } from "../loop/guards.ts";
import type { Health } from "../loop/health.ts";
import { loadShardMoments, type StateFiles, withStateFiles } from "../sharding/files.ts";
import { loadOwnShards, saveOwnShards } from "../sharding/own-files.ts";
import type { TrainedModel } from "../workers/optimize.ts";
import type { ResumeFolders, Workers } from "../workers/workers.ts";
import {
  CheckpointError,
  notWritten,
  readJson,
  removeHalfWritten,
  verifyWhole,
  writeNamed,
  writeWhole,
} from "./files.ts";
import { checkpointFolder, checkpointSteps } from "./folders.ts";
import { loadMoments, saveMoments } from "./moments.ts";

export { checkpointFolder, checkpointSteps };

/** What of a run is no tensor. */
export interface RunState {
  readonly version: 1;
  /** Iterations done. */
  readonly step: number;
  /** Tasks handed out. */
  readonly drawnTasks: number;
  /** How the tasks did that were played; absent without a curriculum. */
  readonly curriculum?: TaskRecords | undefined;
  readonly klController: KlController;
  readonly badUpdates: Guards["badUpdates"];
  /** The best validation so far, and its iteration. */
  readonly best: { readonly step: number; readonly successRate: number } | null;
  /** Episodes and sampled tokens so far. */
  readonly episodes: number;
  readonly tokens: number;
  /** Minutes of training in all sessions: for people, nothing follows from it. */
  readonly minutes: number;
  /** How well the policy plays, and until when it did; absent in checkpoints of earlier versions. */
  readonly health?: Health | undefined;
  /** What alarms have seen, and which are raised; absent in checkpoints of earlier versions. */
  readonly alarms?: AlarmState | undefined;
  /** Where it went back to an earlier checkpoint, because of which alarm; absent: nowhere. */
  readonly rollbacks?:
    | readonly { readonly at: number; readonly to: number; readonly alarm: AlarmName }[]
    | undefined;
}

interface StoredState extends RunState {
  readonly optimizers: {
    readonly actor: StoredOptimizer;
    readonly critic: StoredOptimizer | null;
  };
  /** The model that the run began with; absent in checkpoints of earlier versions. */
  readonly origin?: Fingerprints;
}

interface StoredOptimizer {
  readonly step: number;
  readonly lossScale: { value: number; since: number };
}

/** Files of text, by name. */
type Texts = Readonly<Record<string, string>>;

/**
 * `notes` go beside the policy's weights, `record` says what run it is of. Where weights are in shards, the
 * ranks that have them take part (`isFirst` false) and rank 0 writes.
 */
export function saveCheckpoint(
  run: string,
  workers: Workers,
  state: RunState,
  {
    notes = {},
    record = {},
    isFirst = true,
    inShards = false,
  }: { notes?: Texts; record?: Texts; isFirst?: boolean; inShards?: boolean } = {},
): string {
  const target = checkpointFolder(run, state.step);
  const { actor, critic, lora, modelFolder: tokenizerFolder } = workers;
  const asShards = (trained: TrainedModel) => inShards && isSharded(trained.model);
  if (!isFirst) {
    for (const trained of [actor, critic])
      if (trained && asShards(trained)) takePart(target, trained);
      else if (trained) withStateFiles(trained, false, () => {});
    return target;
  }
  writeWhole(target, (folder) => {
    const own: Record<string, StoredOptimizer> = {};
    const shards = (name: string, trained: TrainedModel): void => {
      saveOwnShards(trained, join(folder, `${name}-shards`));
      own[name] = { step: trained.state().step, lossScale: trained.lossScale.state() };
    };
    if (asShards(actor)) shards("actor", actor);
    else
      withStateFiles(actor, true, (files) => {
        if (lora) {
          saveLora(lora, join(folder, "actor"), { baseModel: workers.modelPlace });
          for (const [name, text] of Object.entries(notes))
            writeNamed(join(folder, "actor", name), text);
        } else files.saveWeights(join(folder, "actor"), { tokenizerFolder, extraFiles: notes });
        own.actor = saveOptimizer(actor, files, join(folder, "actor-optimizer.safetensors"));
      });
    if (critic && asShards(critic)) shards("critic", critic);
    else if (critic)
      withStateFiles(critic, true, (files) => {
        files.saveWeights(join(folder, "critic"), { tokenizerFolder });
        own.critic = saveOptimizer(critic, files, join(folder, "critic-optimizer.safetensors"));
      });
    const stored: StoredState = {
      ...state,
      optimizers: { actor: own.actor!, critic: own.critic ?? null },
      origin: workers.origin,
    };
    for (const [name, text] of Object.entries(record)) writeNamed(join(folder, name), text);
    writeNamed(join(folder, "state.json"), `${JSON.stringify(stored, null, 1)}\n`);
  });
  return target;
}

/** A rank whose disk is full, or that hears of another's, says what rank 0 says. */
function takePart(target: string, trained: TrainedModel): void {
  try {
    saveOwnShards(trained, "");
  } catch (error) {
    throw error instanceof ProcessGroupError ? error : notWritten(target, error);
  }
}

function saveOptimizer(trained: TrainedModel, files: StateFiles, file: string): StoredOptimizer {
  const state = () => ({ step: trained.state().step, tensors: files.moments() });
  return { step: saveMoments({ state }, file), lossScale: trained.lossScale.state() };
}

/** The state of a checkpoint whose files are all as they were written. */
export function openCheckpointState(folder: string): RunState {
  verifyWhole(folder);
  return readState(folder);
}

/** The iteration that did best in validation, as a checkpoint has it; its other files are not looked at. */
export function bestStepOf(folder: string): number | undefined {
  return readState(folder).best?.step;
}

/** Counters from 0 on. */
const COUNTERS = ["step", "drawnTasks", "episodes", "tokens", "minutes"] as const;

function readState(folder: string): StoredState {
  const file = join(folder, "state.json");
  const state = readJson<StoredState>(file);
  if (state.version !== 1)
    throw new CheckpointError(
      `${file}: is of version ${JSON.stringify(state.version)}, expected 1`,
    );
  const wrong = COUNTERS.find((name) => !(Number.isFinite(state[name]) && state[name] >= 0));
  const isWhole = state.optimizers?.actor && state.klController && state.badUpdates;
  if (wrong !== undefined || !isWhole)
    throw new CheckpointError(`${file}: is no state of a run (${wrong ?? "a part"} is missing)`);
  return state;
}

/** Where the workers load their weights from. */
export function resumeFolders(folder: string): ResumeFolders {
  const part = (name: string) =>
    [join(folder, name), join(folder, `${name}-shards`)].find((place) => existsSync(place));
  return {
    folder,
    actor: part("actor") ?? join(folder, "actor"),
    critic: part("critic"),
    origin: readState(folder).origin,
  };
}

/** Gives the workers' optimisers the state of a checkpoint. */
export function loadOptimizers(folder: string, { actor, critic }: Workers): void {
  const { optimizers } = readState(folder);
  loadOptimizer(actor, join(folder, "actor-optimizer.safetensors"), optimizers.actor);
  if (critic && optimizers.critic)
    loadOptimizer(critic, join(folder, "critic-optimizer.safetensors"), optimizers.critic);
}

function loadOptimizer(trained: TrainedModel, file: string, stored: StoredOptimizer): void {
  const { model } = trained;
  const shards = file.replace(/-optimizer\.safetensors$/, "-shards");
  if (existsSync(shards)) loadOwnShards(trained, shards, stored.step);
  else if (isSharded(model)) loadShardMoments(trained, model, file, stored.step);
  else loadMoments(trained, file, stored.step);
  trained.lossScale.load(stored.lossScale);
}

/** Removes what a killed run was writing; only for whoever holds the run's folder. */
export function removeUnfinished(run: string): void {
  removeHalfWritten(join(run, "checkpoints"));
}

/**
 * Removes old checkpoints: all but the last `keep`, the best, and the last one whose policy is known to have
 * played well (`healthy`: until which iteration it did).
 */
export function pruneCheckpoints(
  run: string,
  keep: number | null,
  { best, healthy }: { best: number | undefined; healthy: number | undefined },
): void {
  if (keep === null) return;
  const steps = checkpointSteps(run);
  const lastHealthy = steps.filter((step) => healthy !== undefined && step <= healthy).at(-1);
  for (const step of steps.slice(0, Math.max(0, steps.length - keep)))
    if (step !== best && step !== lastHealthy)
      rmSync(checkpointFolder(run, step), { recursive: true, force: true });
}

/** Removes what was saved after an iteration from which a run goes on: it will be another's future. */
export function removeCheckpointsAfter(run: string, step: number): void {
  for (const later of checkpointSteps(run))
    if (later > step) rmSync(checkpointFolder(run, later), { recursive: true, force: true });
}
