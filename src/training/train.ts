/**
 * @file A training run from its options: joins the other ranks, takes the run's folder, goes on from the
 * last checkpoint if there is one, trains, and leaves the trained policy.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { openRunWorld } from "../assembly/index.ts";
import { saveModel } from "../models/index.ts";
import { allLoggers, type MetricsLogger, openMetrics, type RunEnd } from "../monitoring/index.ts";
import { openTrajectoryStore, type TrajectoryStore } from "../rollout/index.ts";
import { setThreads } from "../torch/index.ts";
import {
  checkpointFolder,
  checkpointSteps,
  loadOptimizers,
  openCheckpointState,
  type RunState,
  removeCheckpointsAfter,
  removeUnfinished,
  resumeFolders,
} from "./checkpoint/checkpoint.ts";
import { CheckpointError } from "./checkpoint/files.ts";
import { type FitResult, fit, type Hooks } from "./loop/fit.ts";
import type { RunOptions, TrainingOptions } from "./options.ts";
import { joinRanks, type Ranks } from "./ranks/ranks.ts";
import { openRunFolder, type RunFolder } from "./run/folder.ts";
import type { HeldLock } from "./run/lock.ts";
import { createWorkers, type Workers } from "./workers/workers.ts";

export interface RunTraining extends Hooks {
  readonly options: TrainingOptions;
  /** What else takes the metrics, besides metrics.jsonl. */
  readonly loggers?: readonly OpenLogger[];
  readonly say?: (text: string) => void;
  readonly signal?: AbortSignal | undefined;
  /** Where the caller has joined them already. */
  readonly ranks?: Ranks | undefined;
  /** Where the caller holds the folder's lock already. */
  readonly lock?: HeldLock | undefined;
}

/** Opens a logger when the run's folder is its own; `lastStep`: the iteration from which it goes on. */
export type OpenLogger = (run: { folder: string; lastStep: number | undefined }) => MetricsLogger;

export interface TrainingResult extends FitResult {
  readonly folder: string;
  /** The trained policy: a model folder. Undefined: nothing was trained, or another rank has it. */
  readonly model: string | undefined;
  readonly resumedFrom: number;
}

export async function runTraining(given: RunTraining): Promise<TrainingResult> {
  const { options } = given;
  if (options.threads !== undefined) setThreads(options.threads);
  const ranks = given.ranks ?? joinRanks();
  try {
    // The others wait until rank 0 has the folder, and read what it found.
    const folder = ranks.isFirst ? openRunFolder(options.run, given.lock) : undefined;
    try {
      return await trainIn(given, ranks, folder);
    } finally {
      folder?.release();
    }
  } finally {
    if (!given.ranks) ranks.close();
  }
}

async function trainIn(
  given: RunTraining,
  ranks: Ranks,
  own: RunFolder | undefined,
): Promise<TrainingResult> {
  const { options, say = () => {} } = given;
  const { run } = options;
  const checkpoint = ranks.broadcast(own ? checkpointToResume(run) : undefined);
  const state: RunState | undefined = checkpoint ? openCheckpointState(checkpoint) : undefined;
  const world = await openRunWorld(options.world);
  const stores: TrajectoryStore[] = [];
  let workers: Workers | undefined;
  let logger: MetricsLogger | undefined;
  let end: RunEnd = "failed";
  try {
    workers = createWorkers(options, ranks, checkpoint ? resumeFolders(checkpoint) : undefined);
    if (checkpoint) {
      loadOptimizers(checkpoint, workers);
      say(`going on after iteration ${state!.step} (${checkpoint})`);
    }
    for (const split of [world.trainSplit, world.valSplit]) await world.world.tasks(split);
    // Nothing can be wrong with the run any more: now the folder is its own.
    own?.begin();
    if (own && state) removeCheckpointsAfter(own.path, state.step);
    ranks.broadcast(true);
    const step = state?.step ?? 0;
    const openStore = (name: string): TrajectoryStore | undefined => {
      if (!run.keepTrajectories) return undefined;
      const folder = join(run.folder, name);
      const store = openTrajectoryStore(ranks.size === 1 ? folder : `${folder}-${ranks.rank}`);
      stores.push(store);
      // A run that begins has not even validated: what lies there is of one that was killed early.
      store.truncate(state ? step + 1 : 0);
      return store;
    };
    logger = own ? openLoggers(own, state?.step, given.loggers ?? []) : { log() {}, close() {} };
    const result = await fit({
      ...given,
      world,
      workers,
      ranks,
      state,
      logger,
      store: openStore("trajectories"),
      validationStore: openStore("validation"),
      say,
    });
    end = result.stopped?.failed ? "failed" : result.interrupted ? "killed" : "finished";
    return {
      ...result,
      folder: run.folder,
      model: own ? exportedPolicy(options, workers, result.state.step) : undefined,
      resumedFrom: step,
    };
  } finally {
    logger?.endAs?.(end);
    logger?.close();
    await logger?.flush?.();
    for (const store of stores) store.close();
    await workers?.dispose();
    await world.world.close?.();
  }
}

/**
 * The trained policy as a folder that everybody reads: the last checkpoint's, or with LoRA, whose
 * checkpoints hold only the adapter, base and adapter as one in the run's `policy`.
 */
function exportedPolicy(
  { run, checkpoints }: TrainingOptions,
  { lora, modelFolder }: Workers,
  step: number,
): string | undefined {
  const saved = join(checkpointFolder(run.folder, step), "actor");
  if (!existsSync(saved)) return undefined;
  if (!lora) return saved;
  const folder = join(run.folder, "policy");
  saveModel(lora, folder, { tokenizerFolder: modelFolder, extraFiles: checkpoints.notes });
  return folder;
}

/** Undefined: the run begins at its beginning. */
function checkpointToResume({ folder: run, resume }: RunOptions): string | undefined {
  if (resume === "new") return undefined;
  if (resume !== "auto") {
    if (!existsSync(join(resume.from, "state.json")))
      throw new CheckpointError(`${resume.from}: there is no checkpoint (no state.json)`);
    return resume.from;
  }
  removeUnfinished(run);
  const steps = checkpointSteps(run);
  const last = steps.at(-1);
  if (last === undefined) return undefined;
  const folder = checkpointFolder(run, last);
  try {
    openCheckpointState(folder);
  } catch (error) {
    if (!(error instanceof CheckpointError)) throw error;
    const before = steps.at(-2);
    throw new CheckpointError(
      `${error.message}\n` +
        (before === undefined
          ? "There is no earlier checkpoint; begin anew with trainer.resume_mode=disable."
          : "To go on from the one before: trainer.resume_mode=resume_path " +
            `trainer.resume_from_path=${checkpointFolder(run, before)}`),
    );
  }
  return folder;
}

function openLoggers(
  folder: RunFolder,
  lastStep: number | undefined,
  more: readonly OpenLogger[],
): MetricsLogger {
  const metrics = openMetrics(folder.metrics);
  // What a killed run logged after its last checkpoint is logged again.
  metrics.truncateAfter(lastStep ?? -1);
  return allLoggers(metrics, ...more.map((open) => open({ folder: folder.path, lastStep })));
}
