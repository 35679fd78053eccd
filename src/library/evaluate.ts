/**
 * @file How good is a model, and is it better than another?
 */
import {
  chosenTasks,
  evaluateFolder,
  OptionError,
  openRunWorld,
  requireModelFolder,
} from "../assembly/index.ts";
import {
  type PlayChoices,
  type Resolved,
  resolvePlay,
  type Settings,
  settingsOf,
} from "../config/index.ts";
import {
  comparePaired,
  type PairedComparison,
  type SuccessTable,
  successTable,
} from "../evaluation/index.ts";
import { modelFolderOf } from "../models/index.ts";
import type { Trajectory } from "../rollout/index.ts";
import { inOrder, oneRank, ownShare, type Ranks, runResults } from "../training/index.ts";
import { fetchedModel } from "./hub/hub.ts";
import type { ProgressChoices } from "./options.ts";
import { audienceOf, interruptedWhile } from "./progress.ts";
import { requireSameWork, withRanks } from "./ranks.ts";

export interface EvaluateOptions extends PlayChoices, ProgressChoices {
  /** A model's folder, its name on the Hub, or a run's folder: its best policy. */
  readonly model: string;
  /** The same tasks with another model, and a paired test of the difference. */
  readonly against?: string | undefined;
  /** Default: the validation split. */
  readonly split?: string | undefined;
  /** So many tasks, always the same choice; null: all of the split. Default: null. */
  readonly tasks?: number | null;
  /** Episodes per task. Default 1. */
  readonly episodes?: number;
  /** Of sampling; 0: the most likely token. Default: that of validation (0.4). */
  readonly temperature?: number;
}

export interface Evaluation {
  readonly model: string;
  readonly world: string;
  /** Where the world's tasks come from. */
  readonly source: string | undefined;
  readonly split: string;
  readonly tasks: number;
  /** Only admissible actions could be drawn: never to be mistaken for free generation. */
  readonly constrained: boolean;
  readonly table: SuccessTable;
  readonly trajectories: readonly Trajectory[];
  readonly against: { readonly model: string; readonly table: SuccessTable } | undefined;
  readonly comparison: PairedComparison | undefined;
}

/** An evaluation against another model. */
export interface ComparedEvaluation extends Evaluation {
  readonly against: NonNullable<Evaluation["against"]>;
  readonly comparison: PairedComparison;
}

/** What comes of these options: with another model, a comparison. */
export type EvaluationOf<Options> = Options extends { readonly against: string }
  ? ComparedEvaluation
  : Evaluation;

export async function evaluate<Options extends EvaluateOptions>(
  options: Options,
): Promise<EvaluationOf<Options>> {
  return withRanks(async (ranks) => {
    const heard = ranks.isFirst ? options : { ...options, progress: false, say() {} };
    const model = await playerIn(options.model, heard);
    const resolved = await resolvePlay(options, settingsOf(modelFolderOf(model), givenBy(options)));
    const against =
      options.against === undefined ? undefined : await playerIn(options.against, heard);
    await requireSameWork(ranks, {
      ...resolved,
      models: { model, ...(against !== undefined && { against }) },
    });
    const found = await evaluateWith(resolved, { ...heard, model, against }, ranks);
    return found as EvaluationOf<Options>;
  });
}

/** What was said of the world, which a model's folder may not say by itself. */
function givenBy({ settings, world, worldOptions }: PlayChoices): Settings {
  const env = {
    ...settings?.env,
    ...(world !== undefined && { env_name: "given" }),
    options: { ...worldOptions, ...settings?.env?.options },
  };
  return { env };
}

/** The same, where the settings are known already. Each rank plays its share of the tasks; all have the result. */
export async function evaluateWith(
  { play, world: where }: Pick<Resolved, "play" | "world">,
  options: EvaluateOptions,
  ranks: Ranks = oneRank(),
): Promise<Evaluation> {
  const { tasks: count = null, episodes = 1, signal } = options;
  const audience = audienceOf(options);
  const { progress } = audience;
  const model = await fetchedModel(options.model, audience, signal);
  const against =
    options.against === undefined ? undefined : await playerIn(options.against, options);
  const world = await openRunWorld(where);
  try {
    const set = await world.namedTasks(options.split ?? world.valSplit);
    const tasks = chosenTasks(set, count);
    const own = ownShare(tasks, ranks);
    const played = async (folder: string): Promise<readonly Trajectory[]> => {
      let done = 0;
      try {
        const { all } = await evaluateFolder(folder, {
          ...{ play, world, tasks: own, members: episodes },
          signal: signal ? AbortSignal.any([signal, ranks.lost]) : ranks.lost,
          onEpisode: () => progress.show(folder, ++done, own.length * episodes),
        });
        if (ranks.any(signal?.aborted ?? false)) throw interruptedWhile("episodes were played");
        return inOrder(ranks.gather(all), episodes);
      } finally {
        progress.clear();
      }
    };
    const ofModel = await played(model);
    const other = against === undefined ? undefined : await played(against);
    return {
      model,
      world: world.about.name,
      source: world.world.source,
      split: set.split,
      tasks: tasks.length,
      constrained: play.constrain,
      table: successTable(ofModel, play.validity),
      trajectories: ofModel,
      against: other && { model: against!, table: successTable(other, play.validity) },
      comparison: other && comparePaired(other, ofModel),
    };
  } finally {
    await world.world.close?.();
  }
}

/** What plays: the model of a folder or a run, or one on the Hub, which is fetched and keeps its name. */
async function playerIn(place: string, options: ProgressChoices): Promise<string> {
  const found = await fetchedModel(place, audienceOf(options), options.signal);
  return modelFolderOf(found) === found ? policyIn(found) : found;
}

/** The model of a folder: itself, or the best policy of a run (the last, where it has not validated). */
export function policyIn(path: string): string {
  const found = runResults(path);
  if (found) return (found.best ?? found.last).folder;
  try {
    return requireModelFolder(path);
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    throw new OptionError(
      `${error.message} (A run's folder will do, too, once it has saved a checkpoint.)`,
    );
  }
}
