/**
 * @file One call from a world and a model to a trained agent:
 *
 *   make the model ─► warm start ─► train ─► report
 *
 * Each leaves its folder; what is there already is not done again, and a run that was stopped goes on.
 */
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { openRunWorld, requireModelFolder } from "../assembly/index.ts";
import {
  type Config,
  formOf,
  groupSize,
  type Resolved,
  resolveTraining,
  runFolder,
} from "../config/index.ts";
import { openTerminal, type TerminalLogger } from "../monitoring/index.ts";
import {
  type HeldLock,
  joinRanks,
  lockRunFolder,
  type Ranks,
  runTraining,
  writeRunReport,
} from "../training/index.ts";
import { checkOptions } from "./check.ts";
import { policyIn } from "./evaluate.ts";
import { loggersOf } from "./loggers.ts";
import { makeModel } from "./model.ts";
import type { NewModel, TrainCall, TrainOptions } from "./options.ts";
import { type Audience, audienceOf, throwIfAborted } from "./progress.ts";
import { type Run, runOf } from "./run.ts";
import { fineTuneFolder } from "./sft.ts";

/** Trains an agent. Called again with the same folder, it goes on where it was stopped. */
export function train(options: TrainOptions | TrainCall): Promise<Run> {
  return whenPrepared(options, async (plan, ranks, lock) => {
    const { config, folder } = plan;
    const { stream } = plan.audience;
    let view: TerminalLogger | undefined;
    const showing = () => {
      view = openTerminal({
        totalSteps: plan.options.iterations,
        title: titleOf(config),
        ...(stream && { stream }),
      });
      return view;
    };
    const say =
      options.say ??
      ((text: string) => (view ? view.print(text) : ranks.isFirst && plan.audience.say(text)));
    options.signal?.addEventListener(
      "abort",
      () => say("finishing the iteration, then saving; then the run ends"),
      { once: true },
    );
    const loggers = await loggersOf(config, options.loggers ?? [], say);
    const result = await runTraining({
      ...hooksOf(options),
      options: plan.options,
      loggers: stream ? [...loggers, showing] : loggers,
      ...{ say, signal: options.signal, ranks, lock },
    });
    const report = ranks.isFirst ? await writeRunReport(folder) : undefined;
    return runOf(plan, result, report);
  });
}

/**
 * Only what comes before reinforcement learning: the new model and the warm start, where they are asked for
 * and not there yet. Gives the folder of the model that training begins with.
 */
export function warmStart(options: TrainOptions | TrainCall): Promise<string> {
  return whenPrepared(options, async ({ start }) => start);
}

/** Works in the run's folder, which is this process's own meanwhile, when model and warm start are there. */
async function whenPrepared<Result>(
  options: TrainCall,
  work: (plan: Plan, ranks: Ranks, lock: HeldLock | undefined) => Promise<Result>,
): Promise<Result> {
  const plan = await planOf(options);
  const ranks = joinRanks();
  let lock: HeldLock | undefined;
  try {
    lock = ranks.isFirst ? lockRunFolder(plan.folder) : undefined;
    await prepare(options, plan, ranks);
    return await work(plan, ranks, lock);
  } finally {
    lock?.release();
    ranks.close();
  }
}

/** What a call to `train` will do. */
export interface Plan extends Resolved {
  readonly folder: string;
  /** The model before anything is learned. */
  readonly model: string;
  /** The model that reinforcement learning begins with. */
  readonly start: string;
  readonly isNewModel: boolean;
  readonly audience: Audience;
}

export async function planOf(options: TrainCall): Promise<Plan> {
  checkOptions(options);
  const isNewModel = typeof options.model === "object";
  // A small model that learns the form from examples gets the world's own text, not instructions.
  const preset = options.preset ?? (isNewModel ? "small-model" : undefined);
  const given = { ...options, ...(preset !== undefined && { preset }) };
  const first = await resolveTraining(given);
  const folder = runFolder(first.config);
  const model =
    typeof options.model === "object"
      ? join(folder, "model")
      : policyOf(options.model || first.options.model.folder);
  const start = options.warmStart ? join(folder, "warm") : model;
  // The form that a model has learned is what it goes on with.
  const resolved = await resolveTraining(given, start, isNewModel ? {} : formOf(model));
  return { ...resolved, folder, model, start, isNewModel, audience: audienceOf(options) };
}

/** Rank 0 makes what is missing; the others wait for it. */
async function prepare(options: TrainCall, plan: Plan, ranks: Ranks): Promise<void> {
  if (ranks.isFirst) {
    // What a run leaves besides, it removes itself when it begins.
    if (options.restart)
      for (const made of [plan.isNewModel && plan.model, options.warmStart && plan.start])
        if (made) rmSync(made, { recursive: true, force: true });
    const needsModel = plan.isNewModel && !isModel(plan.model);
    const needsWarmStart = options.warmStart && !isModel(plan.start);
    const { say } = plan.audience;
    if (plan.isNewModel && !needsModel) say(`the new model is there already (${plan.model})`);
    if (options.warmStart && !needsWarmStart)
      say(`the warm start is there already (${plan.start})`);
    if (needsModel || needsWarmStart) {
      const world = await openRunWorld(plan.world);
      try {
        if (needsModel)
          await makeModel(plan.model, options.model as NewModel, world, plan.play, say);
        throwIfAborted(options.signal, "before the warm start");
        if (needsWarmStart) await warmUp(options, plan, world);
      } finally {
        await world.world.close?.();
      }
    }
    requireModelFolder(plan.start);
  }
  ranks.broadcast(true);
}

async function warmUp(
  options: TrainCall,
  plan: Plan,
  world: Awaited<ReturnType<typeof openRunWorld>>,
): Promise<void> {
  const { audience, isNewModel, options: run } = plan;
  requireModelFolder(plan.model);
  const wanted = options.warmStart || {};
  const { tokens, loss, learned } = await fineTuneFolder({
    ...wanted,
    isNew: isNewModel,
    seed: wanted.seed ?? run.seed,
    ...{ model: plan.model, out: plan.start, world, run, audience },
    signal: options.signal,
  });
  audience.say(`warm start on ${learned} sequences (${tokens} tokens), loss ${loss.toFixed(2)}`);
}

/** Of a run's folder, its best policy; whatever else is there is looked at later. */
function policyOf(path: string): string {
  return existsSync(join(path, "checkpoints")) ? policyIn(path) : path;
}

function isModel(folder: string): boolean {
  return existsSync(join(folder, "config.json"));
}

function titleOf(config: Config): string {
  return (
    `${config.algorithm.adv_estimator} in ${config.env.env_name}, ` +
    `${config.data.train_batch_size} × ${groupSize(config)} episodes`
  );
}

function hooksOf({ onEpisode, onIteration, onValidation }: TrainCall) {
  return { onEpisode, onIteration, onValidation };
}
