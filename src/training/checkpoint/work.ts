/**
 * @file Learning from examples or pairs that can be stopped, and goes on bitwise as if it had not been. The model
 * appears in its folder only when it is finished; until then everything is beside it, and is removed with the end:
 *
 *   OUT.training/
 *     checkpoints/step-000120/    the last one only
 *       model/                    the weights so far
 *       optimizer.safetensors     AdamW's moments
 *       state.json                how far it has come, and what it learns from
 *     best/                       the weights that did best so far, where something is held out
 *     metrics.jsonl               where they are written down
 */
import { existsSync, readdirSync, rmdirSync, rmSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { OptionError } from "../../assembly/index.ts";
import { makeFolder, type OwnedFolder, ownedFolder, takeLock } from "../../folders/index.ts";
import { differences } from "../differences.ts";
import {
  CheckpointError,
  readJson,
  removeHalfWritten,
  verifyWhole,
  writeNamed,
  writeWhole,
} from "./files.ts";
import { checkpointFolder, checkpointSteps } from "./folders.ts";
import { loadMoments, type OptimizerMemory, saveMoments } from "./moments.ts";

/** What must be the same when it goes on, by name. */
export type WorkIdentity = Readonly<Record<string, string | number>>;

/** How far it has come; each kind of learning adds its own. */
export interface WorkPosition {
  readonly update: number;
}

type StoredState<Position> = Position & {
  readonly version: 1;
  readonly optimizerStep: number;
  readonly identity: WorkIdentity;
};

/** Where it goes on; the model has the weights of that place already. */
export interface WorkStart<Position> {
  readonly position: Position;
  loadOptimizer(optimizer: OptimizerMemory): void;
}

/** How a checkpoint is made while it learns. */
export interface WorkCheckpoints<Position> {
  /** Minutes between two of them. */
  readonly minutes: number;
  save(position: Position, optimizer: OptimizerMemory): void;
}

export interface Work<Position extends WorkPosition> {
  readonly folder: string;
  /** The checkpoint to go on from. Undefined: it begins at its beginning. Throws where another one was begun here. */
  resume(identity: WorkIdentity): string | undefined;
  /** `weights` saves them into a folder. */
  save(
    position: Position,
    weights: (folder: string) => void,
    optimizer: OptimizerMemory,
    identity: WorkIdentity,
  ): void;
  /** The weights that did best so far. */
  saveBest(weights: (folder: string) => void): void;
  /** The model is in its folder: nothing of this is needed any more. */
  remove(): void;
  release(): void;
}

const BEST = "best";
const METRICS = "metrics.jsonl";

/** Throws, before any work is done, where the model of a fine-tuning cannot go. */
export function requireNewModel(out: string, model: string): void {
  if (resolve(out) === resolve(model))
    throw new OptionError(
      `${out} is the model that it begins with, which would be lost; choose another folder for the result`,
    );
  const found = existsSync(out) ? statSync(out) : undefined;
  if (!found || (found.isDirectory() && readdirSync(out).length === 0)) return;
  const what = !found.isDirectory()
    ? "is a file"
    : existsSync(join(out, "config.json"))
      ? "has a model already, which would be lost"
      : "has something in it already";
  throw new OptionError(`${out} ${what}; choose another folder for the result, or remove it first`);
}

/** Takes the folder beside the model's for this process. */
export function openWork<Position extends WorkPosition>(out: string): Work<Position> {
  const folder = `${out}.training`;
  try {
    makeFolder(folder);
  } catch (error) {
    throw new OptionError(
      `${folder}: cannot be made (${(error as Error).message}); choose another`,
    );
  }
  const lock = takeLock(folder);
  const release = () => {
    lock.release();
    if (readdirSync(folder).length === 0) rmdirSync(folder);
  };
  let owned: OwnedFolder;
  try {
    owned = ownedFolder(folder, "fine-tuning");
    owned.claim(["checkpoints", BEST, METRICS]);
    removeHalfWritten(join(folder, "checkpoints"));
    removeHalfWritten(folder);
  } catch (error) {
    release();
    throw error;
  }
  return {
    folder,
    resume: (identity) => latestIn(folder, identity),
    save(position, weights, optimizer, identity) {
      lock.requireHeld();
      const target = checkpointFolder(folder, position.update);
      writeWhole(target, (place) => {
        weights(join(place, "model"));
        const optimizerStep = saveMoments(optimizer, join(place, "optimizer.safetensors"));
        const state: StoredState<Position> = { version: 1, ...position, optimizerStep, identity };
        writeNamed(join(place, "state.json"), `${JSON.stringify(state, null, 1)}\n`);
      });
      for (const earlier of checkpointSteps(folder))
        if (earlier !== position.update)
          rmSync(checkpointFolder(folder, earlier), { recursive: true, force: true });
    },
    saveBest(weights) {
      lock.requireHeld();
      writeWhole(join(folder, BEST), (place) => weights(join(place, "model")));
    },
    remove: () => owned.clear(),
    release() {
      owned.leave();
      release();
    },
  };
}

function latestIn(folder: string, identity: WorkIdentity): string | undefined {
  const last = checkpointSteps(folder).at(-1);
  if (last === undefined) return undefined;
  const checkpoint = checkpointFolder(folder, last);
  try {
    verifyWhole(checkpoint);
  } catch (error) {
    if (!(error instanceof CheckpointError)) throw error;
    throw new CheckpointError(`${error.message}\nRemove ${folder} to begin anew.`);
  }
  const state = readJson<StoredState<WorkPosition>>(join(checkpoint, "state.json"));
  const found = differences(state.identity, identity);
  if (found.length > 0)
    throw new OptionError(
      `${folder} is of a fine-tuning that was stopped and is another one:\n${found.join("\n")}\n` +
        "Choose another folder for the result, or remove that one to begin anew.",
    );
  return checkpoint;
}

/** The folder of a checkpoint's weights, or of the best's. */
export function weightsIn(checkpoint: string): string {
  return join(checkpoint, "model");
}

export function bestIn(folder: string): string {
  return join(folder, BEST);
}

export function metricsIn(folder: string): string {
  return join(folder, METRICS);
}

/** How far a checkpoint has come, and its optimiser. */
export function resumeFrom<Position extends WorkPosition>(checkpoint: string): WorkStart<Position> {
  const state = readJson<StoredState<Position>>(join(checkpoint, "state.json"));
  return {
    position: state,
    loadOptimizer: (optimizer) =>
      loadMoments(optimizer, join(checkpoint, "optimizer.safetensors"), state.optimizerStep),
  };
}
