/**
 * @file One call from a world and a model to a trained agent:
 *
 *   make the model ─► warm start ─► train ─► report
 *
 * Each leaves its folder; what is there already is not done again, and a run that was stopped goes on.
 */
import { existsSync } from "node:fs";
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
import { writeRunReport } from "../dashboard/index.ts";
import { meansHub, modelFolderOf } from "../models/index.ts";
import { openTerminal, type TerminalLogger } from "../monitoring/index.ts";
import { findRendezvous } from "../torch/index.ts";
import {
  type FolderOfFirst,
  folderOfFirst,
  type HeldFolder,
  type Ranks,
  readRunDescription,
  runTraining,
} from "../training/index.ts";
import { checkOptions } from "./check.ts";
import { policyIn } from "./evaluate.ts";
import { fetchedModel } from "./hub/hub.ts";
import { loggersOf } from "./loggers.ts";
import { makeModel } from "./model.ts";
import type { NewModel, TrainCall, TrainOptions } from "./options.ts";
import { type Audience, audienceOf, throwIfAborted } from "./progress.ts";
import { heldByFirst, requireSameWork, tellWhoSharesNot, withRanks } from "./ranks.ts";
import { type Run, runOf } from "./run.ts";
import { fineTuneFolder } from "./sft.ts";

/** Trains an agent. Called again with the same folder, it goes on where it was stopped. */
export function train(options: TrainOptions | TrainCall): Promise<Run> {
  return whenPrepared(options, async (plan, ranks, held) => {
    const { config, folder } = plan;
    if (ranks.isFirst) await options.onPrepared?.(plan.start);
    const stream = ranks.isFirst ? plan.audience.stream : undefined;
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
      options.say ?? ((text: string) => (view ? view.print(text) : plan.audience.say(text)));
    const finishing = () => say("finishing the iteration, then saving; then the run ends");
    options.signal?.addEventListener("abort", finishing, { once: true });
    const loggers = await loggersOf(config, options.loggers ?? [], say);
    const result = await runTraining({
      ...hooksOf(options),
      options: plan.options,
      loggers: stream ? [...loggers, showing] : loggers,
      ...{ say, signal: options.signal, ranks, held },
    }).finally(() => options.signal?.removeEventListener("abort", finishing));
    const report = ranks.isFirst ? writeRunReport(folder) : undefined;
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

/**
 * Works in the run's folder, which is this process's own meanwhile, when model and warm start are there. Where
 * it is to begin anew, what is there is put aside until the new run has begun, and comes back if it cannot.
 */
function whenPrepared<Result>(
  options: TrainCall,
  work: (plan: Plan, ranks: Ranks, held: HeldFolder | undefined) => Promise<Result>,
): Promise<Result> {
  return withRanks(async (ranks) => {
    const found = await planOf(options);
    const plan = ranks.isFirst ? found : { ...found, audience: audienceOf(SILENT) };
    const { critic } = plan.options;
    await requireSameWork(ranks, {
      ...plan,
      models: {
        ...(!plan.isNewModel && { model: plan.model }),
        ...(critic.folder !== undefined && { critic: critic.folder }),
      },
    });
    const held = await heldByFirst(ranks, plan.folder);
    let received: FolderOfFirst | undefined;
    try {
      tellWhoSharesNot(ranks, plan.folder, plan.audience.say);
      if (options.restart) held?.owned.setAside();
      received = await prepare(options, plan, ranks, held);
      const result = await work(startingFrom(plan, received), ranks, held);
      held?.owned.discardPrevious();
      return result;
    } catch (error) {
      held?.owned.restorePrevious();
      throw error;
    } finally {
      received?.dispose();
      held?.release();
    }
  });
}

/** Ranks other than 0 say nothing. */
const SILENT = { progress: false, say() {} };

/** The plan with the model where this rank has it. */
function startingFrom(plan: Plan, received: FolderOfFirst | undefined): Plan {
  if (received === undefined || received.path === plan.start) return plan;
  const { options } = plan;
  return { ...plan, options: { ...options, model: { ...options.model, folder: received.path } } };
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
  const audience = audienceOf(options);
  const beginsAnew = options.restart || first.options.run.resume === "new";
  const onMachine = (place: string) =>
    fetchedModel(beginsAnew ? place : asBegun(folder, place), audience, options.signal);
  const model =
    typeof options.model === "object"
      ? join(folder, "model")
      : await onMachine(policyOf(options.model || first.options.model.folder));
  const { advantages, critic: values } = first.options;
  const critic = advantages.estimator.needs.critic ? values.folder : undefined;
  const start = options.warmStart ? join(folder, "warm") : model;
  // The form that a model has learned is what it goes on with.
  const resolved = await resolveTraining(
    given,
    start,
    isNewModel ? {} : formOf(modelFolderOf(model), given.settings),
    critic && (await onMachine(critic)),
  );
  const notes = [...resolved.notes, ...rankNotes(resolved.config)];
  return { ...resolved, notes, folder, model, start, isNewModel, audience };
}

/** Ranks that are asked for and are not there: the command line starts them, a program cannot start itself again. */
function rankNotes({ trainer: { nnodes, n_gpus_per_node: each } }: Config): string[] {
  const wanted = nnodes * Math.max(1, each);
  const there = findRendezvous().worldSize;
  if (wanted <= 1 || wanted === there) return [];
  return [
    `${wanted} ranks are asked for (trainer.nnodes × trainer.n_gpus_per_node), and this program is one of ${there}: ` +
      "start it by torchrun, mpirun or srun, or with launch() of openmanus-rl/torch; the command line starts its own",
  ];
}

/**
 * Makes what is missing: rank 0 a new model, all together the warm start. Gives the model to begin with, on ranks
 * that do not see rank 0's folder a copy.
 */
async function prepare(
  options: TrainCall,
  plan: Plan,
  ranks: Ranks,
  held: HeldFolder | undefined,
): Promise<FolderOfFirst | undefined> {
  const { say } = plan.audience;
  const [needsModel, needsWarmStart] = ranks.broadcast([
    plan.isNewModel && !isModel(plan.model),
    options.warmStart ? !isModel(plan.start) : false,
  ]);
  if (plan.isNewModel && !needsModel) say(`the new model is there already (${plan.model})`);
  if (options.warmStart && !needsWarmStart) say(`the warm start is there already (${plan.start})`);
  if (needsModel || needsWarmStart) {
    const world = await openRunWorld(plan.world);
    try {
      if (needsModel) held?.owned.claim(["model"]);
      if (needsWarmStart) held?.owned.claim(["warm", "warm.training"]);
      if (needsModel && held)
        await makeModel(plan.model, options.model as NewModel, world, plan.play, say);
      throwIfAborted(options.signal, "before the warm start");
      ranks.broadcast(true);
      if (needsWarmStart) await warmUp(options, plan, world, ranks);
    } finally {
      await world.world.close?.();
    }
  }
  if (held) requireModelFolder(plan.start);
  ranks.broadcast(true);
  // What was there before the run is on every machine; what the run made, on rank 0's.
  return plan.isNewModel || options.warmStart ? folderOfFirst(ranks, plan.start) : undefined;
}

async function warmUp(
  options: TrainCall,
  plan: Plan,
  world: Awaited<ReturnType<typeof openRunWorld>>,
  ranks: Ranks,
): Promise<void> {
  const { audience, isNewModel, options: run } = plan;
  const received = isNewModel ? folderOfFirst(ranks, plan.model) : undefined;
  const model = requireModelFolder(received?.path ?? plan.model);
  const wanted = options.warmStart || {};
  const { tokens, loss, learned } = await fineTuneFolder({
    ...wanted,
    isNew: isNewModel,
    seed: wanted.seed ?? run.seed,
    ...{ model, out: plan.start, world, run, audience, ranks },
    signal: options.signal,
  }).finally(() => received?.dispose());
  audience.say(`warm start on ${learned} sequences (${tokens} tokens), loss ${loss.toFixed(2)}`);
}

/**
 * A run that goes on does so with the commit that it began with, wherever the name on the Hub leads by now; unless
 * another revision is asked for.
 */
function asBegun(run: string, place: string): string {
  if (!meansHub(place) || !existsSync(run)) return place;
  const known = (value: unknown): string | undefined => {
    if (typeof value === "string") return value.startsWith(`${place}@`) ? value : undefined;
    if (typeof value !== "object" || value === null) return undefined;
    for (const inside of Object.values(value)) {
      const found = known(inside);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return known(readRunDescription(run)?.identity) ?? place;
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

function hooksOf({ onEpisode, onIteration, onValidation, onAlarm }: TrainCall) {
  return { onEpisode, onIteration, onValidation, onAlarm };
}
