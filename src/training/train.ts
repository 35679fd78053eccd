/**
 * @file A training run from its options: joins the other ranks, takes the run's folder, goes on from the
 * last checkpoint if there is one, trains, and leaves the trained policy.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { OptionError, openRunWorld } from "../assembly/index.ts";
import type { AlarmEvent } from "../evaluation/index.ts";
import { diskSentence } from "../folders/index.ts";
import { isSharded, saveModel } from "../models/index.ts";
import {
  allLoggers,
  type LiveFile,
  type MetricsLogger,
  openLiveFile,
  openMetrics,
  openRunLog,
  openTokenFolder,
  type RunEnd,
  type RunLog,
  type TokenFolder,
} from "../monitoring/index.ts";
import { openTrajectoryStore, type TrajectoryStore } from "../rollout/index.ts";
import { setThreads } from "../torch/index.ts";
import { readAhead } from "./checkpoint/ahead-file.ts";
import {
  checkpointFolder,
  checkpointSteps,
  loadOptimizers,
  openCheckpointState,
  type RunState,
  removeCheckpointsAfter,
  removeUnfinished,
  resumeFolders,
  saveCheckpoint,
} from "./checkpoint/checkpoint.ts";
import { CheckpointError } from "./checkpoint/files.ts";
import { REPLAY_FILE, readReplay, replayText } from "./checkpoint/replay-file.ts";
import { withLowerRate } from "./loop/alarms.ts";
import { type FitResult, fit, type Hooks, newState } from "./loop/fit.ts";
import type { RunOptions, SettingChange, TrainingOptions } from "./options.ts";
import { joinRanks, type Ranks } from "./ranks/ranks.ts";
import { folderOfFirst } from "./ranks/send.ts";
import { openReplay, type ReplayBuffer } from "./replay/buffer.ts";
import { type HeldFolder, openRunFolder, type RunFolder, recordOf } from "./run/folder.ts";
import { saveMerged } from "./sharding/files.ts";
import { createWorkers, type Workers } from "./workers/workers.ts";

export interface RunTraining extends Hooks {
  readonly options: TrainingOptions;
  /** What else takes the metrics, besides metrics.jsonl. */
  readonly loggers?: readonly OpenLogger[];
  readonly say?: (text: string) => void;
  readonly signal?: AbortSignal | undefined;
  /** Where the caller has joined them already. */
  readonly ranks?: Ranks | undefined;
  /** Where the caller holds the folder already. */
  readonly held?: HeldFolder | undefined;
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
    const folder = ranks.isFirst ? openRunFolder(options.run, given.held) : undefined;
    try {
      return await trainIn(given, ranks, folder);
    } finally {
      folder?.release();
    }
  } catch (error) {
    // The others wait for this rank: they end with its reason.
    throw ranks.failed(error);
  } finally {
    if (!given.ranks) ranks.close();
  }
}

async function trainIn(
  given: RunTraining,
  ranks: Ranks,
  own: RunFolder | undefined,
): Promise<TrainingResult> {
  const { options } = given;
  const { run } = options;
  let log: RunLog | undefined;
  const say = (text: string) => {
    given.say?.(text);
    log?.said(text);
  };
  if (options.rollout.oneStepOff && ranks.size > 1)
    throw new OptionError(
      `one_step_off plays ahead in one training process, and there are ${ranks.size}: leave it out, or train in one`,
    );
  const found = ranks.broadcast(own ? checkpointToResume(run) : undefined);
  // A rank that does not see rank 0's folder gets the checkpoint from it.
  const received = found === undefined ? undefined : folderOfFirst(ranks, found);
  const checkpoint = received?.path;
  const state: RunState | undefined = checkpoint ? openCheckpointState(checkpoint) : undefined;
  const world = await openRunWorld(options.world);
  const stores: TrajectoryStore[] = [];
  let workers: Workers | undefined;
  let logger: MetricsLogger | undefined;
  let live: LiveFile | undefined;
  let end: RunEnd = "failed";
  let hasThrown = false;
  let reason: string | undefined;
  try {
    workers = workersFrom(checkpoint, { options, ranks, state, say });
    if (checkpoint) say(`going on after iteration ${state!.step} (${checkpoint})`);
    const splits = [world.trainSplit, world.valSplit, ...options.validation.also];
    for (const split of splits) await world.world.tasks(split);
    // Nothing can be wrong with the run any more: now the folder is its own.
    own?.begin();
    log = own && openRunLog(join(own.path, "log.jsonl"), given.say);
    log?.begun(options.iterations, state?.step ?? 0);
    if (own && state) removeCheckpointsAfter(own.path, state.step);
    for (const text of changesText(own?.changes ?? [], state?.step ?? 0)) say(text);
    ranks.broadcast(true);
    const step = state?.step ?? 0;
    // A checkpoint of the beginning is the beginning: the validation before it is made again.
    const lastStep = step > 0 ? step : undefined;
    const openStore = (name: string): TrajectoryStore | undefined => {
      // Rank 0 stores what all of them play.
      if (!run.keepTrajectories || !own) return undefined;
      const store = openTrajectoryStore(join(run.folder, name));
      stores.push(store);
      // A run that begins has not even validated: what lies there is of one that was killed early.
      store.truncate(lastStep === undefined ? 0 : step + 1);
      return store;
    };
    logger = own ? openLoggers(own, lastStep, given.loggers ?? []) : { log() {}, close() {} };
    if (own && run.liveEpisodes > 0)
      live = openLiveFile(join(own.path, "live.jsonl"), {
        episodes: run.liveEpisodes,
        onLost: say,
      });
    // Goes on where a run goes back to an earlier checkpoint: what was recorded stays true.
    const replay =
      options.replay && openReplay(options.replay, checkpoint ? readReplay(checkpoint) : []);
    const parts = {
      ...given,
      ...{ world, ranks, logger, say, replay },
      store: openStore("trajectories"),
      validationStore: openStore("validation"),
      tokens: own && openTokens(own.path, step),
      live,
      requireFolder: own?.requireHeld,
      onAlarm(event: AlarmEvent) {
        const { name, kind, iteration, text } = event;
        given.say?.(`iteration ${iteration}: ${text}`);
        log?.alarm({ ...{ name, iteration, text }, event: kind });
        given.onAlarm?.(event);
      },
    };
    // Where a run may go back, there is always something to go back to.
    if (options.alarms.onAlarm === "rollback" && !checkpoint && !options.validation.only)
      save(workers, newState(options), options, ranks, replay);
    let result = await fit({
      ...{ ...parts, workers, state },
      ahead: checkpoint && options.rollout.oneStepOff ? readAhead(checkpoint) : undefined,
    });
    while (result.rollback) {
      const { rollback: next, to, because } = result.rollback;
      const folder = folderOfFirst(ranks, checkpointFolder(run.folder, to));
      await workers.dispose();
      workers = undefined;
      try {
        workers = workersFrom(folder.path, { options, ranks, state: next, say });
      } finally {
        folder.dispose();
      }
      say(
        `iteration ${next.step}: because of the alarm ${because.name} it goes on from the weights after iteration ` +
          `${to}, with ${options.alarms.rollbackLrFactor ** next.rollbacks!.length} × the learning rate`,
      );
      // A run that is killed now goes on from here.
      save(workers, next, options, ranks, replay);
      result = await fit({ ...parts, workers, state: next });
    }
    end = result.stopped?.failed ? "failed" : result.interrupted ? "killed" : "finished";
    reason = result.stopped?.reason;
    return {
      ...result,
      folder: run.folder,
      model: exportedPolicy(options, workers, result.state.step, ranks),
      resumedFrom: step,
    };
  } catch (error) {
    hasThrown = true;
    const told = diskSentence(error);
    reason = told instanceof Error ? told.message : String(told);
    throw told;
  } finally {
    log?.ended(end, reason);
    log?.close();
    await closeEach(hasThrown, [
      () => logger?.endAs?.(end),
      () => logger?.close(),
      () => logger?.flush?.(),
      ...stores.map((store) => () => store.close()),
      () => live?.close(),
      () => workers?.dispose(),
      () => received?.dispose(),
      () => world.world.close?.(),
    ]);
  }
}

/** Each, whatever becomes of the others. Where the run has thrown, that is told, and not what it entailed. */
async function closeEach(hasThrown: boolean, closings: readonly (() => unknown)[]): Promise<void> {
  const errors: unknown[] = [];
  for (const close of closings)
    try {
      await close();
    } catch (error) {
      errors.push(error);
    }
  if (errors.length > 0 && !hasThrown) throw errors[0];
}

/** Workers of a run that begins, or goes on from a checkpoint, with the learning rate that its state has left. */
function workersFrom(
  checkpoint: string | undefined,
  {
    options,
    ranks,
    state,
    say,
  }: Pick<RunTraining, "options"> & {
    ranks: Ranks;
    state: RunState | undefined;
    say: (text: string) => void;
  },
): Workers {
  const workers = createWorkers(
    withLowerRate(options, state?.rollbacks?.length ?? 0),
    ranks,
    checkpoint ? resumeFolders(checkpoint) : undefined,
    say,
  );
  if (checkpoint) loadOptimizers(checkpoint, workers);
  return workers;
}

function save(
  workers: Workers,
  state: RunState,
  { run, checkpoints }: TrainingOptions,
  ranks: Ranks,
  replay: ReplayBuffer | undefined,
) {
  if (!workers.saves) return;
  saveCheckpoint(run.folder, workers, state, {
    notes: checkpoints.notes,
    record: { ...recordOf(run), ...(replay && { [REPLAY_FILE]: replayText(replay.episodes) }) },
    isFirst: ranks.isFirst,
  });
}

/**
 * The trained policy as a folder that everybody reads: the last checkpoint's, or with LoRA, whose
 * checkpoints hold only the adapter, base and adapter as one in the run's `policy`.
 */
function exportedPolicy(
  { run, checkpoints }: TrainingOptions,
  { lora, modelFolder, saves }: Workers,
  step: number,
  ranks: Ranks,
): string | undefined {
  const saved = join(checkpointFolder(run.folder, step), "actor");
  if (!ranks.broadcast(ranks.isFirst && existsSync(saved))) return undefined;
  if (!lora) return ranks.isFirst ? saved : undefined;
  const folder = join(run.folder, "policy");
  const how = { tokenizerFolder: modelFolder, extraFiles: checkpoints.notes };
  // The ranks that have a part of the base take part.
  if (saves && isSharded(lora.base)) saveMerged(lora, lora.base, folder, how);
  else if (ranks.isFirst) {
    const release = lora.fetch?.();
    try {
      saveModel(lora, folder, how);
    } finally {
      release?.();
    }
  }
  return ranks.isFirst ? folder : undefined;
}

/** A sentence for each kind of change. */
function changesText(changes: readonly SettingChange[], step: number): string[] {
  return (["harmless", "course"] as const).flatMap((kind) => {
    const found = changes.filter((change) => change.kind === kind);
    if (found.length === 0) return [];
    const told = found.map(({ path, before, after }) => `${path} from ${before} to ${after}`);
    // One that changes the course belongs to its iteration, and is marked there.
    const when = kind === "course" ? `iteration ${step}: ` : "";
    return [`${when}settings changed: ${told.join(", ")} (${found[0]!.means})`];
  });
}

function openTokens(folder: string, step: number): TokenFolder {
  const tokens = openTokenFolder(join(folder, "tokens"));
  tokens.truncate(step + 1);
  return tokens;
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
