/**
 * @file A training run from its configuration: joins the other processes, takes the run's folder, goes on
 * from the last checkpoint if there is one, trains, and writes the report.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../config/index.ts";
import { openConfiguredWorld, SETTINGS_FILE, settingsNote } from "../evaluation/index.ts";
import { saveModel } from "../models/index.ts";
import {
  allLoggers,
  type MetricsLogger,
  openMetrics,
  openTensorBoard,
} from "../monitoring/index.ts";
import type { RewardComponent } from "../rewards/index.ts";
import { openTrajectoryStore, type TrajectoryStore } from "../rollout/index.ts";
import { setThreads } from "../torch/index.ts";
import {
  checkpointFolder,
  checkpointSteps,
  loadOptimizers,
  openCheckpointState,
  type RunState,
  removeCheckpointsAfter,
  resumeFolders,
} from "./checkpoint/checkpoint.ts";
import { CheckpointError } from "./checkpoint/files.ts";
import { type FitResult, fit } from "./fit.ts";
import { joinRanks, type Ranks } from "./ranks.ts";
import { openRunFolder, type RunFolder } from "./run-folder.ts";
import type { Validation } from "./validate.ts";
import { createWorkers, type Workers } from "./workers.ts";

export interface TrainOptions {
  readonly config: Config;
  /** What else takes the metrics: the terminal's view. */
  readonly loggers?: readonly MetricsLogger[];
  readonly rewards?: readonly RewardComponent[];
  readonly say?: (text: string) => void;
  readonly signal?: AbortSignal | undefined;
  readonly onValidation?: (step: number, validation: Validation) => void;
}

export interface TrainResult extends FitResult {
  readonly folder: string;
  /** The trained policy: a model folder. Undefined: nothing was trained, or another process has it. */
  readonly model: string | undefined;
  readonly resumedFrom: number;
}

export async function train(options: TrainOptions): Promise<TrainResult> {
  const { config, say = () => {} } = options;
  if (config.trainer.threads !== null) setThreads(config.trainer.threads);
  const ranks = joinRanks();
  try {
    // The others wait until the leader has the folder, and read what it found.
    const folder = ranks.leads ? openRunFolder(config) : undefined;
    try {
      return await trainIn(options, ranks, folder, say);
    } finally {
      folder?.release();
    }
  } finally {
    ranks.close();
  }
}

async function trainIn(
  options: TrainOptions,
  ranks: Ranks,
  own: RunFolder | undefined,
  say: (text: string) => void,
): Promise<TrainResult> {
  const { config } = options;
  const path = ranks.agree(own?.path ?? "");
  const checkpoint = ranks.agree(own ? checkpointToResume(config, own.path) : undefined);
  const state: RunState | undefined = checkpoint ? openCheckpointState(checkpoint) : undefined;
  const world = await openConfiguredWorld(config);
  const stores: TrajectoryStore[] = [];
  let workers: Workers | undefined;
  let logger: MetricsLogger | undefined;
  try {
    workers = createWorkers(config, ranks, checkpoint ? resumeFolders(checkpoint) : undefined);
    if (checkpoint) {
      loadOptimizers(checkpoint, workers);
      say(`going on after iteration ${state!.step} (${checkpoint})`);
    }
    for (const split of [world.trainSplit, world.valSplit]) await world.world.tasks(split);
    // Nothing can be wrong with the run any more: now the folder is its own.
    own?.begin();
    if (own && state) removeCheckpointsAfter(own.path, state.step);
    ranks.agree(true);
    const step = state?.step ?? 0;
    const openStore = (folder: string): TrajectoryStore => {
      const store = openTrajectoryStore(ranks.size === 1 ? folder : `${folder}-${ranks.rank}`);
      stores.push(store);
      // A run that begins has not even validated: what lies there is of one that was killed early.
      store.truncate(state ? step + 1 : 0);
      return store;
    };
    logger = own
      ? loggerOf(config, own, state?.step, options.loggers ?? [])
      : { log() {}, close() {} };
    const result = await fit({
      config,
      world,
      workers,
      ranks,
      folder: path,
      state,
      logger,
      store: config.trainer.keep_trajectories ? openStore(join(path, "trajectories")) : undefined,
      validationStore: config.trainer.keep_trajectories
        ? openStore(join(path, "validation"))
        : undefined,
      ...(options.rewards && { rewards: options.rewards }),
      say,
      signal: options.signal,
      ...(options.onValidation && { onValidation: options.onValidation }),
    });
    return {
      ...result,
      folder: path,
      model: own ? exportedPolicy(config, path, workers, result.state.step) : undefined,
      resumedFrom: step,
    };
  } finally {
    logger?.close();
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
  config: Config,
  run: string,
  { lora, modelFolder }: Workers,
  step: number,
): string | undefined {
  const saved = join(checkpointFolder(run, step), "actor");
  if (!existsSync(saved)) return undefined;
  if (!lora) return saved;
  const folder = join(run, "policy");
  saveModel(lora, folder, {
    tokenizerFolder: modelFolder,
    extraFiles: { [SETTINGS_FILE]: settingsNote(config) },
  });
  return folder;
}

/** Undefined: the run begins at its beginning. */
function checkpointToResume(config: Config, run: string): string | undefined {
  const { resume_mode, resume_from_path } = config.trainer;
  if (resume_mode === "disable") return undefined;
  if (resume_mode === "resume_path") {
    if (!existsSync(join(resume_from_path!, "state.json")))
      throw new CheckpointError(`${resume_from_path}: there is no checkpoint (no state.json)`);
    return resume_from_path!;
  }
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

function loggerOf(
  config: Config,
  folder: RunFolder,
  step: number | undefined,
  more: readonly MetricsLogger[],
): MetricsLogger {
  const files = [openMetrics(folder.metrics)];
  if ([config.trainer.logger].flat().includes("tensorboard"))
    files.push(openTensorBoard(join(folder.path, "tensorboard")));
  // What a killed run logged after its last checkpoint is logged again.
  for (const file of files) file.truncateAfter(step ?? -1);
  return allLoggers(...files, ...more);
}
